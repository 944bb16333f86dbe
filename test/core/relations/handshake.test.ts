import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { PROVIDER, REQUIRER, type Rule, ruleOf } from '../../../src/core/relations/handshake.ts'
import { isWhole } from '../../helpers/runs.ts'
import { BEGINNING, nextWorlds, settled, type World } from './handshake-model.ts'

const MACHINES: readonly [name: string, machine: readonly Rule<string, string>[]][] = [
  ['a requirer', REQUIRER],
  ['a provider', PROVIDER],
]

describe.each(MACHINES)('%s', (_, machine) => {
  const states = [...new Set(machine.flatMap(({ from }) => from))]
  const sights = [...new Set(machine.map(({ sees }) => sees))]
  const cases = states.flatMap((state) => sights.map((sees) => [state, sees] as const))

  test.each(cases)('that is in %s has one rule where it sees %s', (state, sees) => {
    expect(machine.filter((rule) => rule.from.includes(state) && rule.sees === sees)).toHaveLength(1)
    expect(states).toEqual(expect.arrayContaining([ruleOf(machine, state, sees).to].filter((to) => to !== 'same')))
  })
})

/** The machine as the documentation draws it: a line for each rule. */
const drawn = (machine: readonly Rule<string, string>[]): string =>
  machine
    .map(({ from, sees, intent, to, does }) => {
      const way = [from.join(' | '), ...(intent === undefined ? [] : [`(${intent})`]), to === 'same' ? 'as it is' : to]
      return `${`${sees}:`.padEnd(13)}${way.join(' → ').padEnd(55)}${does}`
    })
    .join('\n')

test.each(MACHINES)('the documentation draws the machine of %s', (_, machine) => {
  const docs = readFileSync(new URL('../../../docs/design.md', import.meta.url), 'utf8')
  expect(docs).toContain(`\`\`\`\n${drawn(machine)}\n\`\`\``)
})

/** Tells if a side is between two calls, or a write of one that died is on its way. */
const isMoving = ({ requirer, provider }: World): boolean =>
  [requirer.step, provider.step, requirer.late, provider.late].some((one) => one !== undefined)

/** The end of a history that nobody disturbs any more, with what the platform said last. */
const isAsSaid = (world: World, end: World | undefined): boolean => {
  const position = Math.max(world.requirer.position, world.provider.position)
  if (end === undefined || position === 0) return end !== undefined
  const isEstablished = position % 2 === 1
  const { requirer, provider, isLabelled, policies } = end
  return isDeepStrictEqual(
    [isLabelled, policies, requirer.labels, provider.grant?.phase],
    isEstablished ? [true, [requirer.request], 'applied', 'standing'] : [false, [], undefined, undefined],
  )
}

test('no labels are on a workload without policies, whatever is lost, late or interrupted, and all ends as the platform said', () => {
  const { left } = BEGINNING
  const beginning = { ...BEGINNING, left: isWhole ? left : { ...left, losses: 0 } }
  const reached = new Map<string, World>([[JSON.stringify(beginning), beginning]])
  const open: string[] = []
  // a Map is walked in the order of insertion, also what is added meanwhile: breadth first
  for (const world of reached.values())
    for (const [name, next] of nextWorlds(world)) {
      const key = JSON.stringify(next)
      if (!reached.has(key)) reached.set(key, next)
      if (next.isLabelled && next.policies.length === 0) open.push(`${name}: ${key}`)
    }
  const calm = [...reached.values()].filter((world) => !isMoving(world))
  process.stdout.write(`the handshake has ${reached.size} states, ${calm.length} of them between two steps\n`)
  expect(open.slice(0, 3)).toEqual([])
  expect(calm.filter((world) => !isAsSaid(world, settled(world))).slice(0, 3)).toEqual([])
  expect(reached.size).toBeGreaterThan(10_000)
})
