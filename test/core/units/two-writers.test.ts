import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judge } from '../../../src/core/reconcile/record/conditions.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import {
  checkAuthority,
  type Leader,
  laterPending,
  type Pending,
  resolvePending,
} from '../../../src/core/units/leader.ts'
import type { ApplicationStatus, Report } from '../../../src/core/units/report.ts'
import { withReport } from '../../../src/core/units/reports.ts'
import { noUnits, observePods, type Units } from '../../../src/core/units/units.ts'

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

const STATELESS = { workload: 'web', type: 'stateless' } as const

const settled = (memory: Memory): Memory => {
  if (memory.pending === undefined) return memory
  const result = resolvePending({ application: 'web', ...memory }, memory.pending)
  return 'due' in result ? { ...memory, spec: result.due, pending: undefined } : memory
}

const pod =
  (number: number): Fold =>
  (memory) => ({
    ...memory,
    units: observePods(
      memory.units,
      { added: { name: `web-pod${number}`, uid: `uid${number}`, number, created: `2026-01-01T00:00:0${number}Z` } },
      STATELESS,
    ),
  })

const gone =
  (number: number): Fold =>
  (memory) =>
    settled({ ...memory, units: observePods(memory.units, { gone: `uid${number}` }, STATELESS) })

const elected =
  (unit: string, epoch: number): Fold =>
  (memory) =>
    settled({ ...memory, leader: { unit, epoch } })

const reports =
  (unit: string, status: Report['status'], message = ''): Fold =>
  (memory) => ({ ...memory, units: withReport(memory.units, 'web', { unit }, { status, message }) })

const sets =
  (unit: string, spec: string): Fold =>
  (memory) => {
    const authority = checkAuthority({ application: 'web', ...memory }, { unit })
    if (authority === 'now') return { ...memory, spec }
    if ('refused' in authority) return memory
    return { ...memory, pending: laterPending(memory.pending, { ...authority.pending, data: spec }) }
  }

const relates: Fold = (memory) => ({ ...memory, relation: true })

const MISSING = 'Please add relationship to sse endpoint'

/** The log of the report that started it all, an event a line. */
const LOG: readonly (readonly [what: string, fold: Fold])[] = [
  ['web/2 there', pod(2)],
  ['web/2 active', reports('web/2', 'active')],
  ['web/2 relation-changed', relates],
  ['web/2 sets the spec, with a warning that it does not lead', sets('web/2', 'web:2')],
  ['web/2 status active', reports('web/2', 'active')],
  ['web/3 there', pod(3)],
  ['web/3 is denied leadership, as web/2 has it', elected('web/2', 1)],
  ['web/3 start', reports('web/3', 'blocked', MISSING)],
  ['web/3 leader-settings-changed', (memory) => memory],
  ['web/3 config-changed', reports('web/3', 'blocked', MISSING)],
  ['web/2 relation-departed', reports('web/2', 'blocked', MISSING)],
  ['web/2 gone', gone(2)],
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
  judge(
    { kinds: () => [], reports: () => [] },
    { namespace: 'shop', application: 'web' },
    {
      ...emptyState(),
      config: { workload: { podSpec: {} } } as never,
      units,
      pending: (pending ? [pending] : []) as never,
    },
    { state: { relations: {} }, blocked: [] } as never,
    { running: {}, held: [], desired: { unserved: [], labels: {} }, now: NOW },
  ).application

const folds = LOG.map(([, fold]) => fold)

describe('two units of web, one that goes and one that comes', () => {
  test('the application is never blocked, though both units say so', () => {
    expect(states(folds).map((memory, index) => [LOG[index]?.[0], statusIn(memory)])).toEqual([
      ['web/2 there', { status: 'active', message: '' }],
      ['web/2 active', { status: 'active', message: '' }],
      ['web/2 relation-changed', { status: 'active', message: '' }],
      ['web/2 sets the spec, with a warning that it does not lead', { status: 'active', message: '' }],
      ['web/2 status active', { status: 'active', message: '' }],
      ['web/3 there', { status: 'active', message: '' }],
      ['web/3 is denied leadership, as web/2 has it', { status: 'active', message: '' }],
      ['web/3 start', { status: 'active', message: '' }],
      ['web/3 leader-settings-changed', { status: 'active', message: '' }],
      ['web/3 config-changed', { status: 'active', message: '' }],
      ['web/2 relation-departed', { status: 'waiting', message: `web/2: ${MISSING} (and 1 more)` }],
      ['web/2 gone', { status: 'waiting', message: `web/3 is starting: ${MISSING}` }],
    ])
  })

  test('what web/2 asked for while it was alone was done, and stays when it goes', () => {
    const specs = states(folds).map(({ spec }) => spec)
    expect(specs).toEqual([...Array(3).fill(undefined), ...Array(9).fill('web:2')])
    expect(states(folds).at(-1)?.relation).toBe(true)
  })

  test('web/3 cannot set a spec while web/2 leads, and can once it leads', () => {
    const led = states(folds.slice(0, 10)).at(-1) ?? EMPTY
    expect(sets('web/3', 'web:3')(led)).toEqual(led)
    const last = states(folds).at(-1) ?? EMPTY
    const [asked, done] = states([...folds, sets('web/3', 'web:3'), elected('web/3', 2)]).slice(-2)
    expect([last.spec, asked?.spec, done?.spec]).toEqual(['web:2', 'web:2', 'web:3'])
  })

  test('it is active again as soon as web/3 is', () => {
    const memory = states([...folds, reports('web/3', 'active')]).at(-1) ?? EMPTY
    expect(statusIn(memory)).toEqual({ status: 'active', message: '' })
  })

  test('what web/2 says after it is gone changes nothing', () => {
    const last = states(folds).at(-1) ?? EMPTY
    for (const late of [reports('web/2', 'blocked', 'late'), sets('web/2', 'late'), pod(2), gone(2)])
      expect(late(last)).toEqual(last)
  })

  test('in whatever order the end of web/2 and the start of web/3 are told, once both pods are known', () => {
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
