import { describe, expect, test } from 'vitest'
import type { Relation } from '../../src/state/relation.ts'
import { noUnits, observePods } from '../../src/units/units.ts'
import { acceptedWorkload, specsAfter, specWarnings, type WorkloadMemory } from '../../src/workload/accepted.ts'
import { findChurn } from '../../src/workload/churn/history.ts'
import type { PodWorkload } from '../../src/workload/config.ts'
import { podSpec, workload } from './samples.ts'

const NOW = new Date('2026-01-01T00:00:00Z')

type Memory = WorkloadMemory & { config: { workload?: PodWorkload; labels?: Record<string, unknown> } }

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

const colour = (value: string): Memory =>
  memory({ config: { workload: workload({ podSpec: podSpec('web:1', value) }) } })

/** The memory after each config arrived in turn. */
const played = (memories: readonly Memory[]): Memory =>
  memories.reduce((before, next) => {
    const now: Memory = { ...next, specs: before.specs }
    return { ...now, specs: specsAfter(now, 'web', 'unit', NOW) }
  }, memory())

const COLOURS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

describe('the workload that runs', () => {
  test('is the config’s', () => {
    expect(acceptedWorkload(played([colour('a'), colour('b')]))).toEqual(colour('b').config.workload)
    expect(acceptedWorkload(memory())).toEqual(workload())
  })

  test('is the last one that was accepted, in a loop, with all else as the config has it', () => {
    const looping = played(COLOURS.map(colour))
    expect(findChurn(looping.specs)).toBeDefined()
    expect(acceptedWorkload(looping)).toEqual(colour('f').config.workload)
  })

  test.each([
    ['nobody’s', memory({ config: {} })],
    ['somebody else’s', { ...memory(), config: { workload: { kind: 'StatefulSet', name: 'web' } } }],
    ['not configured', { ...memory(), config: undefined }],
  ])('is none where it is %s', (_, one: WorkloadMemory) => {
    expect([acceptedWorkload(one), specsAfter(one, 'web', 'unit', NOW), specWarnings(one, 'web')]).toEqual([
      undefined,
      undefined,
      [],
    ])
  })
})

describe('does not hide a loop, though it changes as often', () => {
  const changed = (changes: (index: number, before: Memory) => Partial<Memory>) =>
    COLOURS.map((value, index) => ({ ...colour(value), ...changes(index, colour(value)) }))

  test.each<[string, (index: number, before: Memory) => Partial<Memory>]>([
    [
      'the revision',
      (index, { config }) => ({ config: { workload: { ...workload(config.workload), revision: `${index}` } } }),
    ],
    [
      'the replicas',
      (index, { config }) => ({ config: { workload: { ...workload(config.workload), replicas: index } } }),
    ],
    ['the rest of the config', (index, { config }) => ({ config: { ...config, labels: { a: `${index}` } } })],
    ['a databag', (index) => ({ relations: relation({ a: index }) })],
    [
      'which units there are',
      (index) => ({ units: observePods(noUnits(), { added: { name: 'a', uid: `${index}` } }, { workload: 'web' }) }),
    ],
  ])('%s', (_, changes) => {
    expect(findChurn(played(changed(changes)).specs)).toBeDefined()
  })

  test('an application of another namespace is named with it', () => {
    const memories = COLOURS.map((value, index) => ({
      ...colour(`host-${value}`),
      relations: relation({ host: `host-${value}`, index }, 'data'),
    }))
    expect(findChurn(played(memories).specs)?.because).toMatch(/data\/db keep changing each other/)
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
    expect(findChurn(played([...specs.slice(0, 6), ...specs.slice(-1)]).specs)?.because).toContain(what)
  })

  test('not the names of a stateful application: they stay', () => {
    const one = memory({
      units,
      config: { workload: { ...colour('web/3').config.workload, deployment: { type: 'stateful' } } as PodWorkload },
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

  test('not a port, nor a spec without any', () => {
    expect(specWarnings({ ...colour('5432'), units, relations }, 'web')).toEqual([])
  })
})
