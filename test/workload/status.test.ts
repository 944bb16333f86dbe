import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Report, WorkloadStatus } from '../../src/workload/report.ts'
import { withReport } from '../../src/workload/reports.ts'
import { type StatusFacts, statusOf } from '../../src/workload/status.ts'
import { noUnits, observePods, Units } from '../../src/workload/units.ts'

const WEB = { workload: 'web', type: 'stateless' } as const
const ORDER: WorkloadStatus[] = ['error', 'blocked', 'maintenance', 'waiting', 'active']

/** Pods in the order given, each with what it reported, oldest report first. */
const unitsOf = (pods: Record<string, readonly (readonly [WorkloadStatus, string])[]>): Units =>
  Object.entries(pods).reduce((units, [uid, reports]) => {
    const there = observePods(units, { added: { name: `web-${uid}`, uid } }, WEB)
    return Units.parse(
      reports.reduce((before, [status, message]) => withReport(before, 'web', { uid }, { status, message }), there),
    )
  }, noUnits())

const status = (facts: Partial<StatusFacts>) => statusOf({ application: 'web', units: noUnits(), ...facts })

const ACTIVE = ['active', ''] as const
const LOOP = { paths: ['a', 'b', 'c', 'd'], because: 'it changes' }

describe('the status of an application', () => {
  test.each<[string, Partial<StatusFacts>, WorkloadStatus, string]>([
    ['nothing is wrong', {}, 'active', ''],
    [
      'the spec is refused',
      { badSpec: 'image: Required' },
      'error',
      'the pod spec is refused, and what runs stays: image: Required',
    ],
    ['a loop', { loop: LOOP }, 'blocked', 'the pod spec keeps changing and is not applied: a, b, c and others'],
    [
      'a short loop',
      { loop: { ...LOOP, paths: ['a', 'b', 'c'] } },
      'blocked',
      'the pod spec keeps changing and is not applied: a, b, c',
    ],
    ['versions', { incompatible: 'v1 and v3' }, 'blocked', 'v1 and v3'],
    ['a relation', { relations: ['relation 7: labels'] }, 'blocked', 'relation 7: labels'],
    ['two relations', { relations: ['relation 7', 'relation 8'] }, 'blocked', 'relation 7 (and 1 more)'],
    ['a cluster', { cluster: { status: 'waiting', message: 'for a worker' } }, 'waiting', 'for a worker'],
    ['no leader', { pending: { unit: 'web/1' } }, 'waiting', 'no leader: what web/1 asked for is done by the next one'],
    ['no workload', { missing: ['StatefulSet shop/web'] }, 'waiting', 'StatefulSet shop/web does not exist yet'],
    ['no pod', { expectsUnits: true }, 'waiting', 'no unit is there yet'],
    ['a pod that says nothing', { expectsUnits: true, units: unitsOf({ a: [] }) }, 'active', ''],
    ['a unit', { units: unitsOf({ a: [ACTIVE, ['blocked', 'no licence']] }) }, 'blocked', 'web/0: no licence'],
    ['a unit without words', { units: unitsOf({ a: [ACTIVE, ['error', '']] }) }, 'error', 'web/0: error'],
    ['an active unit with words', { units: unitsOf({ a: [['active', 'ready']] }) }, 'active', 'ready'],
    [
      'two active units, with words',
      { units: unitsOf({ a: [['active', 'one']], b: [['active', 'two']] }) },
      'active',
      'one',
    ],
  ])('%s', (_, facts, wanted, message) => {
    expect(status(facts)).toEqual({ status: wanted, message })
  })

  test('the worse goes first, whatever the order', () => {
    const reports = fc.uniqueArray(fc.constantFrom(...ORDER), { minLength: 1 })
    fc.assert(
      fc.property(reports, fc.constantFrom(...ORDER), (said, cluster) => {
        const pods = Object.fromEntries(said.map((one, index) => [`p${index}`, [ACTIVE, [one, 'x'] as const]]))
        const worst = ORDER.find((one) => one === cluster || said.includes(one))
        expect(status({ units: unitsOf(pods), cluster: { status: cluster, message: 'y' } }).status).toBe(worst)
      }),
    )
  })
})

describe('a unit that starts', () => {
  test.each<[string, Units, WorkloadStatus, string]>([
    ['never blocks', unitsOf({ a: [['blocked', 'no relation']] }), 'waiting', 'web/0 is starting: no relation'],
    ['is no error', unitsOf({ a: [['error', 'hook failed']] }), 'waiting', 'web/0 is starting: hook failed'],
    ['has nothing to say', unitsOf({ a: [['maintenance', '']] }), 'waiting', 'web/0 is starting'],
    ['is no matter while another is active', unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }), 'active', ''],
    [
      'may be what ends the one before, which does not block then',
      unitsOf({ a: [ACTIVE, ['blocked', 'relation gone']], b: [] }),
      'waiting',
      'web/0: relation gone',
    ],
    [
      'as well when one started before that',
      unitsOf({ a: [], b: [ACTIVE, ['blocked', 'relation gone']], c: [] }),
      'waiting',
      'web/1: relation gone',
    ],
    [
      'does not excuse one that came later',
      unitsOf({ a: [], b: [ACTIVE, ['blocked', 'no licence']] }),
      'blocked',
      'web/1: no licence',
    ],
    ['has started once it was active', unitsOf({ a: [ACTIVE, ['blocked', 'x']] }), 'blocked', 'web/0: x'],
  ])('%s', (_, units, wanted, message) => {
    expect(status({ units })).toEqual({ status: wanted, message })
  })

  test('starts again as another pod of the same number', () => {
    const pods = ['a', 'b'].map((uid) => ({ added: { name: 'web-0', uid } }))
    const [first, second] = pods.map((pod) => (units: Units) => observePods(units, pod, { workload: 'web' }))
    const active = withReport(first?.(noUnits()) ?? noUnits(), 'web', { uid: 'a' }, { status: 'active', message: '' })
    const report: Report = { status: 'blocked', message: 'x' }
    expect(status({ units: withReport(second?.(active) ?? active, 'web', { unit: 'web/0' }, report) }).status).toBe(
      'waiting',
    )
  })
})

describe('who has no say', () => {
  const there = unitsOf({ a: [ACTIVE], b: [ACTIVE] })
  const units = observePods(there, { gone: 'b' }, WEB)
  const blocked: Report = { status: 'blocked', message: 'x' }

  test.each([
    ['a pod that is gone', { uid: 'b' }],
    ['a pod that is gone, in the name of one that is there', { uid: 'b', unit: 'web/0' }],
    ['a unit that is gone', { unit: 'web/1' }],
    ['a pod that nobody told of', { uid: 'z' }],
    ['a unit that never was', { unit: 'web/7' }],
    ['nobody', {}],
  ])('%s', (_, reporter) => {
    expect(withReport(units, 'web', reporter, blocked)).toBe(units)
    expect(status({ units }).status).toBe('active')
  })

  test.each([{ uid: 'a' }, { unit: 'web/0' }, { unit: 'web-a' }])('but %j has', (reporter) => {
    expect(status({ units: withReport(units, 'web', reporter, blocked) })).toEqual({
      status: 'blocked',
      message: 'web/0: x',
    })
  })
})
