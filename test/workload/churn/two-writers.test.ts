import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { authorityOf, type Leader, laterPending, type Pending, settlePending } from '../../../src/units/leader.ts'
import type { ApplicationStatus, Report } from '../../../src/units/report.ts'
import { withReport } from '../../../src/units/reports.ts'
import { noUnits, observePods, type Units } from '../../../src/units/units.ts'
import { statusOf } from '../../../src/workload/status.ts'

/** What a memory remembers of it, and how each event folds into it. */
type Memory = {
  units: Units
  leader?: Leader
  spec?: string
  pending?: Pending<string> | undefined
  relation?: boolean
}
type Fold = (memory: Memory) => Memory

/** A minute after the first pod. */
const NOW = new Date('2026-01-01T00:01:00Z')

const CON6 = { workload: 'con6', type: 'stateless' } as const

const settled = (memory: Memory): Memory => {
  if (memory.pending === undefined) return memory
  const result = settlePending({ application: 'con6', ...memory }, memory.pending)
  return 'due' in result ? { ...memory, spec: result.due, pending: undefined } : memory
}

const pod =
  (number: number): Fold =>
  (memory) => ({
    ...memory,
    units: observePods(
      memory.units,
      { added: { name: `con6-pod${number}`, uid: `uid${number}`, number, created: `2026-01-01T00:00:0${number}Z` } },
      CON6,
    ),
  })

const gone =
  (number: number): Fold =>
  (memory) =>
    settled({ ...memory, units: observePods(memory.units, { gone: `uid${number}` }, CON6) })

const elected =
  (unit: string, epoch: number): Fold =>
  (memory) =>
    settled({ ...memory, leader: { unit, epoch } })

const reports =
  (unit: string, status: Report['status'], message = ''): Fold =>
  (memory) => ({ ...memory, units: withReport(memory.units, 'con6', { unit }, { status, message }) })

const sets =
  (unit: string, spec: string): Fold =>
  (memory) => {
    const authority = authorityOf({ application: 'con6', ...memory }, { unit })
    if (authority === 'now') return { ...memory, spec }
    if ('refused' in authority) return memory
    return { ...memory, pending: laterPending(memory.pending, { ...authority.pending, data: spec }) }
  }

const relates: Fold = (memory) => ({ ...memory, relation: true })

const MISSING = 'Please add relationship to sse endpoint'

/** The log of the report that started it all, an event a line. */
const LOG: readonly (readonly [what: string, fold: Fold])[] = [
  ['con6/2 there', pod(2)],
  ['con6/2 active', reports('con6/2', 'active')],
  ['con6/2 relation-changed', relates],
  ['con6/2 sets the spec, with a warning that it does not lead', sets('con6/2', 'web:2')],
  ['con6/2 status active', reports('con6/2', 'active')],
  ['con6/3 there', pod(3)],
  ['con6/3 is denied leadership, as con6/2 has it', elected('con6/2', 1)],
  ['con6/3 start', reports('con6/3', 'blocked', MISSING)],
  ['con6/3 leader-settings-changed', (memory) => memory],
  ['con6/3 config-changed', reports('con6/3', 'blocked', MISSING)],
  ['con6/2 relation-departed', reports('con6/2', 'blocked', MISSING)],
  ['con6/2 gone', gone(2)],
]

const EMPTY: Memory = { units: noUnits() }

/** The memory after each event. */
const states = (folds: readonly Fold[]): Memory[] => {
  let memory = EMPTY
  return folds.map((fold) => {
    memory = fold(memory)
    return memory
  })
}

const statusIn = ({ units, pending }: Memory): ApplicationStatus =>
  statusOf({ application: 'con6', units, pending, now: NOW, hasNoUnits: Object.keys(units.present).length === 0 })

const folds = LOG.map(([, fold]) => fold)

describe('two units of con6, one that goes and one that comes', () => {
  test('the application is never blocked, though both units say so', () => {
    expect(states(folds).map((memory, index) => [LOG[index]?.[0], statusIn(memory)])).toEqual([
      ['con6/2 there', { status: 'active', message: '' }],
      ['con6/2 active', { status: 'active', message: '' }],
      ['con6/2 relation-changed', { status: 'active', message: '' }],
      ['con6/2 sets the spec, with a warning that it does not lead', { status: 'active', message: '' }],
      ['con6/2 status active', { status: 'active', message: '' }],
      ['con6/3 there', { status: 'active', message: '' }],
      ['con6/3 is denied leadership, as con6/2 has it', { status: 'active', message: '' }],
      ['con6/3 start', { status: 'active', message: '' }],
      ['con6/3 leader-settings-changed', { status: 'active', message: '' }],
      ['con6/3 config-changed', { status: 'active', message: '' }],
      ['con6/2 relation-departed', { status: 'waiting', message: `con6/2: ${MISSING} (and 1 more)` }],
      ['con6/2 gone', { status: 'waiting', message: `con6/3 is starting: ${MISSING}` }],
    ])
  })

  test('what con6/2 asked for while it was alone was done, and stays when it goes', () => {
    const specs = states(folds).map(({ spec }) => spec)
    expect(specs).toEqual([...Array(3).fill(undefined), ...Array(9).fill('web:2')])
    expect(states(folds).at(-1)?.relation).toBe(true)
  })

  test('con6/3 cannot set a spec while con6/2 leads, and can once it leads', () => {
    const led = states(folds.slice(0, 10)).at(-1) ?? EMPTY
    expect(sets('con6/3', 'web:3')(led)).toEqual(led)
    const last = states(folds).at(-1) ?? EMPTY
    const [asked, done] = states([...folds, sets('con6/3', 'web:3'), elected('con6/3', 2)]).slice(-2)
    expect([last.spec, asked?.spec, done?.spec]).toEqual(['web:2', 'web:2', 'web:3'])
  })

  test('it is active again as soon as con6/3 is', () => {
    const memory = states([...folds, reports('con6/3', 'active')]).at(-1) ?? EMPTY
    expect(statusIn(memory)).toEqual({ status: 'active', message: '' })
  })

  test('what con6/2 says after it is gone changes nothing', () => {
    const last = states(folds).at(-1) ?? EMPTY
    for (const late of [reports('con6/2', 'blocked', 'late'), sets('con6/2', 'late'), pod(2), gone(2)])
      expect(late(last)).toEqual(last)
  })

  test('in whatever order the end of con6/2 and the start of con6/3 are told, once both pods are known', () => {
    const [before, rest] = [folds.slice(0, 6), folds.slice(6)]
    fc.assert(
      fc.property(fc.shuffledSubarray(rest, { minLength: 1 }), fc.boolean(), (some, twice) => {
        for (const memory of states([...before, ...some, ...(twice ? some : [])]))
          expect(statusIn(memory).status).not.toBe('blocked')
      }),
    )
  })

  test('in whatever order all of it is told, in the end', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(folds, { minLength: folds.length }), (all) => {
        expect(statusIn(states(all).at(-1) ?? EMPTY).status).not.toBe('blocked')
      }),
    )
  })
})
