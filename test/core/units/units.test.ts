import { describe, expect, test } from 'vitest'
import {
  type Deployed,
  findUnitNumber,
  hasLeft,
  isDeparted,
  MOST_PODS,
  noUnits,
  observePods,
  type PodObservation,
  Units,
} from '../../../src/core/units/units.ts'
import { deployedAs } from '../../../src/core/workload/deployed-as.ts'
import { stateOf } from '../../helpers/states.ts'
import { workload } from '../../helpers/world.ts'

const STATELESS: Deployed = { workload: 'web', type: 'stateless' }
const STATEFUL: Deployed = { workload: 'web', type: 'stateful' }

const unitsAfter = (deployed: Deployed, observations: readonly PodObservation[], units = noUnits()): Units =>
  Units.parse(observations.reduce((before, observation) => observePods(before, observation, deployed), units))

const added = (name: string, uid: string, more: { created?: string; number?: number } = {}): PodObservation => ({
  added: { name, uid, ...more },
})
const gone = (uid: string): PodObservation => ({ gone: uid })

const numbers = ({ present }: Units) =>
  Object.fromEntries(Object.entries(present).map(([uid, { number }]) => [uid, number]))

describe('units of a stateless application', () => {
  test('units of a stateless application get a number each, which is never given again', () => {
    const units = unitsAfter(STATELESS, [added('web-a', 'a'), added('web-b', 'b'), gone('a'), added('web-c', 'c')])
    expect(numbers(units)).toEqual({ b: 1, c: 2 })
    expect(units.next).toBe(3)
  })

  test('units of a stateless application keep it when their pod is told again', () => {
    const once = unitsAfter(STATELESS, [added('web-a', 'a'), added('web-b', 'b')])
    expect(unitsAfter(STATELESS, [added('web-a', 'a')], once)).toEqual(once)
  })

  test('units of a stateless application have the number that is told, unless another pod has or had it', () => {
    const units = unitsAfter(STATELESS, [
      added('web-a', 'a', { number: 3 }),
      added('web-b', 'b', { number: 2 }),
      added('web-c', 'c', { number: 3 }),
      gone('a'),
      added('web-d', 'd', { number: 3 }),
      added('web-e', 'e'),
    ])
    expect(numbers(units)).toEqual({ b: 2, c: 4, d: 5, e: 6 })
  })
})

test('a pod that a list brings back is the unit that it was, whatever is told', () => {
  const units = unitsAfter(STATELESS, [added('web-a', 'a'), added('web-b', 'b'), gone('b')])
  const listed = unitsAfter(STATELESS, [{ live: [{ name: 'web-b', uid: 'b', number: 9 }] }], units)
  expect(numbers(listed)).toEqual({ b: 1 })
})

describe('units of a stateful application', () => {
  test('units of a stateful application have the number of their pod, and keep it when the pod is replaced', () => {
    const units = unitsAfter(STATEFUL, [added('web-0', 'a'), added('web-1', 'b'), gone('a'), added('web-0', 'c')])
    expect(numbers(units)).toEqual({ b: 1, c: 0 })
  })

  test('units of a stateful application are replaced by the next pod of their number, also when nobody told that the one before is gone', () => {
    const units = unitsAfter(STATEFUL, [added('web-0', 'a'), added('web-0', 'b')])
    expect(numbers(units)).toEqual({ b: 0 })
    expect(isDeparted(units, 'a')).toBe(true)
  })

  test('units of a stateful application are not replaced by a pod that was created before, however late that is told', () => {
    const early = { created: '2026-01-01T00:00:00Z' }
    const late = { created: '2026-01-01T00:00:30+00:00' }
    const units = unitsAfter(STATEFUL, [added('web-0', 'b', late), added('web-0', 'a', early)])
    expect(numbers(units)).toEqual({ b: 0 })
    expect(isDeparted(units, 'a')).toBe(true)
    expect(numbers(unitsAfter(STATEFUL, [added('web-0', 'a', early), added('web-0', 'b', late)]))).toEqual({ b: 0 })
  })

  test('a time that is none does not count', () => {
    const units = unitsAfter(STATEFUL, [
      added('web-0', 'a', { created: 'tomorrow' }),
      added('web-0', 'b', { created: '2026-01-01T00:00:00Z' }),
      added('web-0', 'c', { created: '' }),
    ])
    expect(numbers(units)).toEqual({ c: 0 })
  })

  test('of two that were created in the same second, the one that is told last is there', () => {
    const created = '2026-01-01T00:00:00Z'
    const units = unitsAfter(STATEFUL, [added('web-0', 'a', { created }), added('web-0', 'b', { created })])
    expect(numbers(units)).toEqual({ b: 0 })
  })

  test.each(['web-7d9c5-x2x1z', 'web', 'web-', 'web-01', 'web-1x', 'other-0', 'web-web-0', 'web-12345678901'])(
    'pod %s is none',
    (name) => {
      expect(unitsAfter(STATEFUL, [added(name, 'a')])).toEqual(noUnits())
    },
  )
})

test('where the type is not known, the name of the pod tells', () => {
  const units = unitsAfter({ workload: 'web' }, [added('web-4', 'a'), added('web-7d9c5-x2x1z', 'b')])
  expect(numbers(units)).toEqual({ a: 4, b: 5 })
})

test('an application that becomes stateless does not give numbers again', () => {
  const stateful = unitsAfter(STATEFUL, [added('web-0', 'a'), added('web-1', 'b'), gone('a'), gone('b')])
  expect(numbers(unitsAfter(STATELESS, [added('web-x', 'c')], stateful))).toEqual({ c: 2 })
})

describe.each([
  ['stateless', STATELESS, 'web-x', 'web-y'],
  ['stateful', STATEFUL, 'web-0', 'web-1'],
])('what comes late, %s', (_, deployed, name, other) => {
  test('what comes late about a pod that is gone changes nothing', () => {
    const units = unitsAfter(deployed, [added(name, 'a'), gone('a')])
    expect(unitsAfter(deployed, [added(name, 'a'), gone('a')], units)).toEqual(units)
  })

  test('its end before its start', () => {
    expect(numbers(unitsAfter(deployed, [gone('a'), added(name, 'a')]))).toEqual({})
  })

  test('its start after that of its successor', () => {
    const units = unitsAfter(deployed, [added(name, 'a'), gone('a'), added(name, 'b'), added(name, 'a')])
    expect(Object.keys(units.present)).toEqual(['b'])
  })

  test('a list of all that live is believed: it adds, removes and brings back', () => {
    const units = unitsAfter(deployed, [added(name, 'a'), added(other, 'b'), gone('b')])
    const listed = unitsAfter(deployed, [{ live: [{ name: other, uid: 'b' }] }], units)
    expect(numbers(listed)).toEqual({ b: units.departed[0]?.number })
    expect([isDeparted(listed, 'a'), isDeparted(listed, 'b')]).toEqual([true, false])
    expect(numbers(unitsAfter(deployed, [{ live: [] }], units))).toEqual({})
  })

  test('a list that says nothing new changes nothing', () => {
    const units = unitsAfter(deployed, [added(name, 'a'), added(other, 'b')])
    const live = [
      { name: other, uid: 'b' },
      { name, uid: 'a' },
    ]
    expect(observePods(units, { live }, deployed)).toEqual(units)
  })
})

describe('whether a unit has left', () => {
  const units = unitsAfter(STATELESS, [added('web-a', 'a'), added('web-b', 'b'), gone('a')])

  test.each([
    ['web/0', true],
    ['web-a', true],
    ['web/1', false],
    ['web-b', false],
    ['web/2', false],
    ['web-z', false],
    ['other/0', false],
    ['web/00', false],
    ['constructor', false],
  ])('%s: %s', (name, wanted) => {
    expect(hasLeft(units, 'web', name)).toBe(wanted)
  })

  test('one that nobody told of has not, though one of a higher number is there', () => {
    const second = unitsAfter(STATEFUL, [added('web-1', 'b')])
    expect(hasLeft(second, 'web', 'web/0')).toBe(false)
  })

  test('a unit is known by its pod as well', () => {
    expect([findUnitNumber(units, 'web', 'web-a'), findUnitNumber(units, 'web', 'web/1')]).toEqual([0, 1])
  })
})

describe('bounds', () => {
  const many = Array.from({ length: MOST_PODS + 1 }, (_, index) => added(`web-p${index}`, `uid-${index}`))

  test('of pods that nobody ever said are gone, the first goes', () => {
    const units = unitsAfter(STATELESS, many)
    expect(Object.keys(units.present)).toHaveLength(MOST_PODS)
    expect(isDeparted(units, 'uid-0')).toBe(true)
    expect(units.next).toBe(MOST_PODS + 1)
  })

  test('of a list, the first are taken', () => {
    const live = many.map((_, index) => ({ name: `web-p${index}`, uid: `uid-${index}` }))
    const units = unitsAfter(STATELESS, [{ live }])
    expect(Object.keys(units.present)).toHaveLength(MOST_PODS)
    expect(units.departed).toEqual([])
  })

  test('of the departed, the last are remembered', () => {
    const all = many.flatMap((observation, index) => [observation, gone(`uid-${index}`)])
    const units = unitsAfter(STATELESS, all)
    expect(units.departed).toHaveLength(MOST_PODS)
    expect([isDeparted(units, 'uid-0'), isDeparted(units, 'uid-1')]).toEqual([false, true])
  })
})

test.each(['__proto__', 'constructor'])('%s is a uid like any other, or none', (uid) => {
  const units = unitsAfter(STATELESS, [added('web-a', uid), gone(uid), added('web-a', uid), added('web-b', 'b')])
  expect(Object.keys(units.present)).toEqual(['b'])
})

test('pods are of the workload that is found, or else of that which the config names, or else of that which the memory knows', () => {
  const named = (kind: 'StatefulSet' | 'Deployment', name: string) =>
    stateOf([], { config: { workload: { kind, name } }, workloadKind: 'Deployment' })
  expect(deployedAs('web', stateOf([]))).toEqual({ workload: 'web' })
  expect(deployedAs('web', stateOf([], { workloadKind: 'Deployment' }))).toEqual(STATELESS)
  expect(deployedAs('web', named('StatefulSet', 'db'))).toEqual({ workload: 'db', type: 'stateful' })
  expect(deployedAs('web', stateOf([], { config: { workload: { kind: 'Deployment', name: 'web' } } }))).toEqual(
    STATELESS,
  )
  expect(deployedAs('web', named('StatefulSet', 'web'), workload('Deployment'))).toEqual(STATELESS)
  expect(deployedAs('web', stateOf([], { workloadKind: 'Deployment' }), workload('StatefulSet'))).toEqual(STATEFUL)
})
