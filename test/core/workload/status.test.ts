import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Report, WorkloadStatus } from '../../../src/core/units/report.ts'
import { withReport } from '../../../src/core/units/reports.ts'
import { noUnits, observePods, Units } from '../../../src/core/units/units.ts'
import { combineStatuses, type StatusInput } from '../../../src/core/workload/status.ts'

const WEB = { workload: 'web', type: 'stateless' } as const
const NOW = new Date('2026-01-01T00:10:00Z')
const ORDER: WorkloadStatus[] = ['error', 'blocked', 'maintenance', 'waiting', 'active']

/** Pods that were made at a minute of that hour, each with what it reported, oldest report first. */
const unitsOf = (
  pods: Record<string, readonly (readonly [WorkloadStatus, string])[]>,
  minutes: Readonly<Record<string, number>> = {},
): Units =>
  Object.entries(pods).reduce((units, [uid, reports]) => {
    const created = new Date(Date.UTC(2026, 0, 1, 0, minutes[uid] ?? 0)).toISOString()
    const there = observePods(units, { added: { name: `web-${uid}`, uid, created } }, WEB)
    return Units.parse(
      reports.reduce((before, [status, message]) => withReport(before, 'web', { uid }, { status, message }), there),
    )
  }, noUnits())

const status = (facts: Partial<StatusInput>) =>
  combineStatuses({ application: 'web', units: noUnits(), now: NOW, ...facts })

const ACTIVE = ['active', ''] as const

describe('the status of an application', () => {
  test.each<[string, Partial<StatusInput>, WorkloadStatus, string]>([
    ['nothing is wrong', {}, 'active', ''],
    [
      'the spec is refused',
      { badSpec: 'image: Required' },
      'error',
      'the pod spec is refused, and what runs stays: image: Required',
    ],
    ['versions', { incompatible: 'v1 and v3' }, 'blocked', 'v1 and v3'],
    ['a cluster', { reports: [{ status: 'waiting', message: 'for a worker' }] }, 'waiting', 'for a worker'],
    [
      'two features',
      { reports: ['one', 'two'].map((message) => ({ status: 'blocked', message })) },
      'blocked',
      'one (and 1 more)',
    ],
    [
      'no leader',
      { pending: { unit: 'web/1' } },
      'waiting',
      'no leader: what web/1 asked for is applied once web/1 is elected',
    ],
    ['no pod', { hasNoUnits: true }, 'waiting', 'no unit is there yet'],
    ['a pod that says nothing', { units: unitsOf({ a: [] }) }, 'active', ''],
    ['what is refused', { refused: ['Gateway a: no', 'Gateway b: no'] }, 'error', 'Gateway a: no (and 1 more)'],
    [
      'a namesake',
      { namesake: 'Deployment shop/web' },
      'blocked',
      "Deployment shop/web is somebody else's: the application's own is not deployed",
    ],
    [
      'an address',
      { waiting: [{ held: 'relation 3 (db)', for: ['shop/db'], message: 'relation 3 (db): waiting for port' }] },
      'waiting',
      'relation 3 (db): waiting for port',
    ],
    [
      'pods',
      { health: [{ status: 'waiting', message: '0 of 2 pods are available' }] },
      'waiting',
      '0 of 2 pods are available',
    ],
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
        expect(status({ units: unitsOf(pods), reports: [{ status: cluster, message: 'y' }] }).status).toBe(worst)
      }),
    )
  })
})

describe('what a unit says', () => {
  const NEW = { b: 8 }

  test.each<[string, Units, WorkloadStatus, string]>([
    ['blocks before its first active', unitsOf({ a: [['blocked', 'no relation']] }), 'blocked', 'web/0: no relation'],
    ['is an error before its first active', unitsOf({ a: [['error', 'hook failed']] }), 'error', 'web/0: hook failed'],
    ['blocks while another has said nothing', unitsOf({ a: [ACTIVE, ['blocked', 'x']], b: [] }), 'blocked', 'web/0: x'],
    ['blocks, whichever came first', unitsOf({ a: [], b: [['blocked', 'x']] }), 'blocked', 'web/1: x'],
    ['is told while another is active', unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }), 'blocked', 'web/1: x'],
    [
      'is no matter as it takes over from an active one',
      unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }, NEW),
      'active',
      '',
    ],
    ['is an error even then', unitsOf({ a: [ACTIVE], b: [['error', 'x']] }, NEW), 'error', 'web/1: x'],
    [
      'waits while it takes over from one that says its last',
      unitsOf({ a: [ACTIVE, ['blocked', 'gone']], b: [['blocked', 'x']] }, NEW),
      'waiting',
      'web/0: gone (and 1 more)',
    ],
    [
      'waits when another takes over that has said nothing yet',
      unitsOf({ a: [ACTIVE, ['blocked', 'gone']], b: [] }, NEW),
      'waiting',
      'web/0: gone',
    ],
    [
      'has started once it was active',
      unitsOf({ a: [ACTIVE], b: [ACTIVE, ['blocked', 'x']] }, NEW),
      'blocked',
      'web/1: x',
    ],
  ])('%s', (_, units, wanted, message) => {
    expect(status({ units })).toEqual({ status: wanted, message })
  })

  test('what a unit says counts after five minutes, whoever it took over from', () => {
    const units = unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }, NEW)
    const at = (minute: number) => status({ units, now: new Date(Date.UTC(2026, 0, 1, 0, minute)) }).status
    expect([at(12), at(13)]).toEqual(['active', 'blocked'])
  })

  test('what a unit says waits as another pod of the same number takes over', () => {
    const pods = ['2026-01-01T00:00:00Z', '2026-01-01T00:08:00Z'].map((created) => ({
      name: 'web-0',
      uid: created,
      created,
    }))
    const units = pods.reduce((before, added) => observePods(before, { added }, { workload: 'web' }), noUnits())
    const report: Report = { status: 'blocked', message: 'x' }
    expect(status({ units: withReport(units, 'web', { unit: 'web/0' }, report) })).toEqual({
      status: 'waiting',
      message: 'web/0 is starting: x',
    })
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

  test.each([{ uid: 'a' }, { unit: 'web/0' }, { unit: 'web-a' }])('a unit has its say, told as %j', (reporter) => {
    expect(status({ units: withReport(units, 'web', reporter, blocked) })).toEqual({
      status: 'blocked',
      message: 'web/0: x',
    })
  })
})
