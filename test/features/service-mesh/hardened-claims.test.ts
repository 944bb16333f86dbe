import { expect, test } from 'vitest'
import { BEACON, configure, policiesIn, requires } from '../../helpers/beacon-world.ts'
import { createWorld, service, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }

test('hardened mode waits for the policies of consumers alone: pods that nothing replaces do not hold it up', async () => {
  const { spec, ...database } = workload('StatefulSet', 'db')
  const world = createWorld(
    [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
      { ...database, spec: { ...spec, updateStrategy: { type: 'OnDelete' } } },
      service('db'),
    ],
    { isOwnSink: true },
  )
  await configure(world, { mesh: {} })
  await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, DB)
  await world.send('relation-changed', requires(1, DB))
  await configure(world, { mesh: { hardened: true } })
  expect((await world.send('resync', BEACON)).messages.join()).not.toContain('hardened mode waits')
  expect(policiesIn(world).filter(({ metadata }) => metadata.namespace === 'istio-system')).toHaveLength(2)
})
