import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Deployed,
  isDeparted,
  noUnits,
  observePods,
  type PodObservation,
  type UnitPod,
  Units,
} from '../../../src/core/units/units.ts'
import { runs } from '../../helpers/runs.ts'

/** What the scheduler does: a pod starts at one of a few places, or the one that is there goes; and events are told, late, twice or never. */
type Move = { start: number } | { stop: number } | { tell: number; again: boolean } | 'list'

const place = fc.nat({ max: 3 })
const moves = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ start: place }) },
    { weight: 3, arbitrary: fc.record({ stop: place }) },
    { weight: 6, arbitrary: fc.record({ tell: fc.nat(), again: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant('list' as const) },
  ),
  { maxLength: 60 },
)

type World = {
  deployed: Deployed
  live: Map<number, UnitPod>
  /** Events on their way, which may be told in any order. */
  told: PodObservation[]
  units: Units
  started: number
  /** Every number that a uid ever had. */
  had: Map<string, Set<number>>
  gone: Set<string>
}

const started = (world: World, at: number): void => {
  if (world.live.has(at)) return
  world.started += 1
  const name = world.deployed.type === 'stateful' ? `web-${at}` : `web-7d9c5-p${world.started}`
  const created = new Date(Date.UTC(2026, 0, 1, 0, 0, world.started)).toISOString()
  const pod = { name, uid: `uid-${world.started}`, created }
  world.live.set(at, pod)
  world.told.push({ added: pod })
}

const stopped = (world: World, at: number): void => {
  const pod = world.live.get(at)
  if (pod === undefined) return
  world.live.delete(at)
  world.told.push({ gone: pod.uid })
}

const observe = (world: World, observation: PodObservation): void => {
  const before = world.units
  world.units = Units.parse(observePods(before, observation, world.deployed))
  for (const [uid, { number }] of Object.entries(world.units.present))
    world.had.set(uid, (world.had.get(uid) ?? new Set()).add(number))
  if ('gone' in observation) world.gone.add(observation.gone)
  expect(observePods(world.units, observation, world.deployed)).toEqual(world.units)
}

const moved = (world: World, move: Move): void => {
  if (move === 'list') observe(world, { live: [...world.live.values()] })
  else if ('start' in move) started(world, move.start)
  else if ('stop' in move) stopped(world, move.stop)
  else {
    const index = move.tell % Math.max(1, world.told.length)
    const [observation] = move.again ? world.told.slice(index, index + 1) : world.told.splice(index, 1)
    if (observation !== undefined) observe(world, observation)
  }
}

const played = (deployed: Deployed, history: readonly Move[], check: (world: World) => void): World => {
  const world: World = {
    deployed,
    live: new Map(),
    told: [],
    units: noUnits(),
    started: 0,
    had: new Map(),
    gone: new Set(),
  }
  for (const move of history) {
    moved(world, move)
    check(world)
  }
  return world
}

const numbersOf = ({ units }: World) => Object.values(units.present).map(({ number }) => number)

describe.each([
  ['stateless', { workload: 'web', type: 'stateless' }],
  ['stateful', { workload: 'web', type: 'stateful' }],
] as const)('a %s application, through thousands of histories of pods that come and go', (type, deployed) => {
  const assert = (check: (world: World) => void, end: (world: World) => void = () => undefined) =>
    fc.assert(
      fc.property(moves, (history) => end(played(deployed, history, check))),
      { numRuns: runs(2_000) },
    )

  test('never has two pods in one unit, and a pod keeps the number it has', () => {
    assert((world) => {
      expect(new Set(numbersOf(world)).size).toBe(numbersOf(world).length)
      for (const numbers of world.had.values()) expect(numbers.size).toBe(1)
    })
  })

  test(
    type === 'stateless' ? 'never gives a number to another pod' : 'always gives a pod the number of its name',
    () => {
      assert((world) => {
        const given = [...world.had.values()].flatMap((numbers) => [...numbers])
        if (type === 'stateless') expect(new Set(given).size).toBe(given.length)
        else for (const { pod, number } of Object.values(world.units.present)) expect(pod).toBe(`web-${number}`)
      })
    },
  )

  test('never brings a pod back of which it was told that it is gone, but by a list that has it', () => {
    assert(({ units, gone, live }) => {
      const alive = new Set([...live.values()].map(({ uid }) => uid))
      for (const uid of gone) expect(at(units, uid)).toBe(false)
      for (const uid of gone) expect(alive.has(uid)).toBe(false)
    })
  })

  test('an application has just the pods that live once everything was told, in any order and any number of times', () => {
    assert(
      () => undefined,
      (world) => {
        for (const observation of world.told.splice(0)) observe(world, observation)
        const alive = [...world.live.values()].map(({ uid }) => uid)
        expect(Object.keys(world.units.present).toSorted()).toEqual(alive.toSorted())
      },
    )
  })

  test('an application has just the pods that live after a list, whatever is still to be told', () => {
    assert(
      () => undefined,
      (world) => {
        const live = [...world.live.values()]
        observe(world, { live })
        for (const observation of world.told.toReversed()) observe(world, observation)
        expect(Object.keys(world.units.present).toSorted()).toEqual(live.map(({ uid }) => uid).toSorted())
        for (const uid of world.gone) expect(isDeparted(world.units, uid)).toBe(true)
      },
    )
  })
})

const at = ({ present }: Units, uid: string): boolean => Object.hasOwn(present, uid)
