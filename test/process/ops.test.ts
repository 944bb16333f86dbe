import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { hasPython, PYTHON } from './juju.ts'

const CASES = fileURLToPath(new URL('ops-cases.py', import.meta.url))

/** `PYTHONPATH` may name where ops is. */
const hasOps = hasPython && spawnSync(PYTHON, ['-c', 'from ops.testing import Context']).status === 0

test.skipIf(!hasOps).each([
  ['tells all that it knows when it is elected', 'tells_all'],
  ['tells the end of a relation', 'tells_an_end'],
  ['leaves it to the leader to speak', 'leaves_it_to_the_leader'],
  ['takes an action for no hook', 'takes_an_action_for_no_hook'],
  ['adds what it waits for to the statuses of its unit', 'adds_a_wait'],
  ['adds what its application waits for to the statuses of its unit', 'adds_what_the_application_waits_for'],
  ['has the worse status of its own', 'yields_to_a_worse_status'],
  ['that sets its status itself keeps it', 'leaves_the_status_alone'],
  ['tells the real name of an alias, and says its own', 'finds_an_alias'],
  ['as in the example runs without meshstep', 'runs_the_example'],
])('a charm with ops %s (skipped without ops[testing])', (_, name) => {
  const { status, stderr } = spawnSync(PYTHON, ['-B', CASES, name], { encoding: 'utf8' })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
})
