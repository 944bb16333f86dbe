import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/core/state/config.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { noUnits, observePods, type Units } from '../../../src/core/units/units.ts'
import { specWarnings, withAcceptedConfig } from '../../../src/core/workload/accepted.ts'
import { findChurn } from '../../../src/core/workload/churn/evidence.ts'
import type { ConfigChurn } from '../../../src/core/workload/churn/history.ts'
import { podSpec, workload } from './samples.ts'

const NOW = new Date('2026-01-01T00:00:00Z')

type Memory = {
  readonly config?: Config
  readonly configChurn?: ConfigChurn | undefined
  readonly relations: Record<string, Relation>
  readonly units: Units
}

const memory = (changes: Partial<Memory> = {}): Memory => ({
  config: { workload: workload() },
  relations: {},
  units: noUnits(),
  ...changes,
})

const relation = (data: Record<string, unknown>, namespace?: string): Record<string, Relation> => ({
  7: {
    id: 7,
    endpoint: 'database',
    interface: 'postgresql',
    role: 'requires',
    remote: { application: 'db', ...(namespace && { namespace }), data: {}, units: { 'db/0': data } },
  },
})

const colour = (value: string, changes: object = {}): Memory =>
  memory({ config: { workload: workload({ podSpec: podSpec('web:1', value), ...changes }) } })

/** The memory after each config arrived in turn. */
const played = (memories: readonly Memory[]): Memory =>
  memories.reduce(
    (before: Memory, { config, ...next }) =>
      withAcceptedConfig(
        before,
        { ...next, configChurn: before.configChurn, ...(config && { config: { ...config } }) },
        { application: 'web', by: 'unit', now: NOW, relations: () => next.relations },
      ),
    { relations: {}, units: noUnits() },
  )

const becauseOf = ({ configChurn }: Memory) => findChurn(configChurn)[0]?.because

const COLOURS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const colourOf = (value: string) => colour(value)

describe('the config in effect', () => {
  test('the config in effect is the one that was told last', () => {
    expect(played([colour('a'), colour('b')]).config).toEqual(colour('b').config)
  })

  test('the config in effect has a part that is in a loop as it was accepted last, and all else as it was told', () => {
    const told = COLOURS.map((value, index) => ({
      ...colour(value, { replicas: index === 6 ? 3 : 2 }),
      ...(index === 6 && { config: { ...colour(value, { replicas: 3 }).config, policies: [], labels: { a: 'b' } } }),
    }))
    const looping = played(told)
    expect(becauseOf(looping)).toBeDefined()
    expect(looping.config).toEqual({ ...colour('f', { replicas: 2 }).config, policies: [], labels: { a: 'b' } })
  })

  test('the config in effect is none, and nothing is counted of it, where it is gone', () => {
    const looping = played(COLOURS.map(colourOf))
    expect(played([looping, { ...memory(), config: undefined } as never])).not.toHaveProperty('configChurn')
  })

  test('the config in effect is judged by relations that are looked at where a unit tells it, and not where a person does', () => {
    const arrival = { application: 'web', by: 'person' as const, now: NOW }
    const relations = () => {
      throw new Error('relations are not needed')
    }
    expect(withAcceptedConfig(memory(), colour('b'), { ...arrival, relations }).config).toEqual(colour('b').config)
  })

  test.each([
    ['somebody else’s', memory({ config: { workload: { kind: 'StatefulSet', name: 'web' } } })],
    ['nobody’s', memory({ config: {} })],
  ])('the config in effect warns of nothing where the workload is %s', (_, one) => {
    expect(specWarnings(one, 'web')).toEqual([])
  })
})

describe('does not hide a loop, though it changes as often', () => {
  test.each<[string, (value: string, index: number) => Memory]>([
    ['the revision', (value, index) => colour(value, { revision: `${index}` })],
    ['the replicas', (value, index) => colour(value, { replicas: index })],
    [
      'the rest of the config',
      (value, index) => memory({ config: { ...colour(value).config, labels: { a: `${index}` } } }),
    ],
    ['a databag', (value, index) => ({ ...colour(value), relations: relation({ a: index }) })],
    [
      'which units there are',
      (value, index) => ({
        ...colour(value),
        units: observePods(noUnits(), { added: { name: 'a', uid: `${index}` } }, { workload: 'web' }),
      }),
    ],
  ])('%s', (_, tell) => {
    expect(becauseOf(played(COLOURS.map(tell)))).toBeDefined()
  })

  test('the revision alone is no change', () => {
    const told = COLOURS.map((_, index) => colour('a', { revision: `${index}` }))
    expect(played(told)).toEqual({
      ...told.at(-1),
      ...(played(told).configChurn && { configChurn: expect.anything() }),
    })
    expect(becauseOf(played(told))).toBeUndefined()
  })

  test('an application of another namespace is named with it', () => {
    const memories = COLOURS.map((value, index) => ({
      ...colour(`host-${value}`),
      relations: relation({ host: `host-${value}`, index }, 'data'),
    }))
    expect(becauseOf(played(memories))).toMatch(/data\/db keep changing each other/)
  })
})

describe('what is known to pass with a pod is told before it is a loop', () => {
  const units = observePods(noUnits(), { added: { name: 'web-7d9c5-x', uid: 'a', number: 3 } }, { workload: 'web' })
  const relations = relation({ 'ingress-address': '10.1.2.3', port: 5432 })

  test.each([
    ['an address of another application’s unit', 'db at 10.1.2.3:5432', '10.1.2.3, an address of db'],
    ['the name of a unit', 'web/3', 'web/3, the name of a unit'],
    ['the name of a pod', 'web-7d9c5-x', 'web-7d9c5-x, the name of a pod'],
  ])('%s', (_, value, what) => {
    expect(specWarnings({ ...colour(value), units, relations }, 'web')).toEqual([
      `containers[web].env[COLOUR].value holds ${what}: the spec changes whenever that does; name a Service, or leave it out`,
    ])
    const specs = [...COLOURS.map((one) => colour(`${one} `)), colour(value)].map((one) => ({
      ...one,
      units,
      relations,
    }))
    expect(becauseOf(played([...specs.slice(0, 6), ...specs.slice(-1)]))).toContain(what)
  })

  test('what is known to pass with a pod is told before it is a loop, not the names of a stateful application: they stay', () => {
    const one = memory({
      units,
      config: colour('web/3', { deployment: { type: 'stateful' } }).config ?? {},
    })
    expect(specWarnings(one, 'web')).toEqual([])
  })

  test('of very many addresses, the first hundred', () => {
    const addresses = Array.from({ length: 101 }, (_, index) => `10.0.1.${index}`)
    const told = addresses.map((address) =>
      specWarnings({ ...colour(address), relations: relation({ addresses }) }, 'web'),
    )
    expect(told.map(({ length }) => length)).toEqual([...Array(100).fill(1), 0])
  })

  test('what is known to pass with a pod is told before it is a loop, not a port, nor a spec without any', () => {
    expect(specWarnings({ ...colour('5432'), units, relations }, 'web')).toEqual([])
  })
})
