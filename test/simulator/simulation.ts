import { expect } from 'vitest'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import {
  createEmptyWorld,
  deployed,
  imageOf,
  podOf,
  podSpec,
  pods,
  remove,
  scale,
  type View,
  view,
} from '../helpers/application.ts'
import { event, type World } from '../helpers/world.ts'

/** What happens next: `index` says to which pod or unit, `crash` at which call of the step, 0 for none. */
export type Move = { what: keyof typeof MOVES; index: number; crash: number }

type Asked = { image?: string; settings?: Record<string, string> }

/** The functions, and what somebody who saw all of it would expect of them. */
export type Simulation = {
  world: World
  type: 'stateless' | 'stateful'
  count: number
  epoch: number
  view: View
  /** What counts by now, and what each unit asked for while nobody led. */
  image: string
  settings: Record<string, string>
  waiting: Map<string, Asked>
  related: boolean
  /** Every pod there ever was, and the unit that each was. */
  pods: Map<string, KubernetesObject>
  units: Map<string, string>
  /** What living pods said of themselves. */
  said: Map<string, { status: string; started: boolean }>
}

const configOf = ({ type, count }: Pick<Simulation, 'type' | 'count'>, image: string) =>
  deployed({ podSpec: podSpec(image), deployment: { type }, revision: String(count) })

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)]

/** Sends an event, and again if the step crashed on the way; answers with the status of the first answer that was one. */
const deliver = async ({ world }: Simulation, sent: Event, crash: number): Promise<number> => {
  let calls = 0
  world.intercept = () => {
    calls += 1
    if (calls === crash) throw new Error('crash')
    return undefined
  }
  const first = await world.post(sent)
  world.intercept = undefined
  return first.status === 500 ? (await world.post(sent)).status : first.status
}

const tell = (simulation: Simulation, name: string, data: Record<string, unknown>, crash: number) =>
  deliver(simulation, event(name, data), crash)

/** What a unit asks for counts at once, waits, or is refused before any effect, as the last view has it. */
const ask = async (simulation: Simulation, asked: Asked, { index, crash }: Move): Promise<void> => {
  const unit = pick([...new Set(simulation.units.values())], index)
  if (unit === undefined) return
  const { view: before } = simulation
  const isThere = before.units.some((one) => one.unit === unit)
  const isLeader = before.leader?.unit === unit
  const isRefused = !isThere || (before.leader !== undefined && !isLeader)
  const objects = JSON.stringify(simulation.world.api.objects())
  const config = asked.image === undefined ? {} : configOf(simulation, asked.image)
  const status = await tell(
    simulation,
    'config-changed',
    { ...config, ...(asked.settings && { settings: asked.settings }), unit },
    crash,
  )
  if (isRefused) {
    expect([unit, status]).toEqual([unit, 403])
    expect(JSON.stringify(simulation.world.api.objects())).toBe(objects)
    return
  }
  if (isLeader) settle(simulation, asked)
  else simulation.waiting.set(unit, { ...simulation.waiting.get(unit), ...asked })
}

const settle = (simulation: Simulation, { image, settings }: Asked): void => {
  simulation.image = image ?? simulation.image
  simulation.settings = settings ?? simulation.settings
}

const living = ({ world }: Simulation): KubernetesObject[] => pods(world)

const report = async (simulation: Simulation, status: string, { index, crash }: Move): Promise<void> => {
  const pod = pick([...simulation.pods.values()], index)
  if (pod === undefined) return
  const uid = pod.metadata.uid ?? ''
  const isAlive = living(simulation).some(({ metadata }) => metadata.uid === uid)
  if (isAlive) {
    const started = status === 'active' || simulation.said.get(uid)?.started === true
    simulation.said.set(uid, { status, started })
  }
  await tell(simulation, 'pod-restarted', { pod: podOf(pod), status: { status, message: 'why' } }, crash)
}

const OFFER = { 'service-name': 'db', 'service-port': '5432' }

const MOVES = {
  scale: async (simulation: Simulation, { index }: Move) => {
    scale(simulation.world, index % 4, simulation.type === 'stateful' ? 'StatefulSet' : 'Deployment')
  },
  kill: async (simulation: Simulation, { index }: Move) => {
    const pod = pick(living(simulation), index)
    if (pod) remove(simulation.world, 'Pod', pod.metadata.name)
  },
  roll: async (simulation: Simulation, { crash }: Move) => {
    const image = `web:${simulation.count}`
    await tell(simulation, 'config-changed', configOf(simulation, image), crash)
    for (const asked of simulation.waiting.values()) delete asked.image
    settle(simulation, { image })
  },
  elect: async (simulation: Simulation, { index, crash }: Move) => {
    const unit = pick(simulation.view.units, index)?.unit
    if (unit === undefined) return
    simulation.epoch += 1
    await tell(simulation, 'leader-elected', { unit, epoch: simulation.epoch }, crash)
    expect(simulation.world.memory()?.state).not.toHaveProperty('pending')
  },
  depose: async (simulation: Simulation, { index, crash }: Move) => {
    const unit = pick([...simulation.units.values()], index)
    if (unit !== undefined && simulation.epoch > 1)
      await tell(simulation, 'leader-elected', { unit, epoch: simulation.epoch - 1 }, crash)
  },
  ask: (simulation: Simulation, move: Move) => ask(simulation, { image: `asked:${simulation.count}` }, move),
  set: (simulation: Simulation, move: Move) => ask(simulation, { settings: { n: String(simulation.count) } }, move),
  active: (simulation: Simulation, move: Move) => report(simulation, 'active', move),
  blocked: (simulation: Simulation, move: Move) => report(simulation, 'blocked', move),
  late: async (simulation: Simulation, { index, crash }: Move) => {
    const pod = pick([...simulation.pods.values()], index)
    if (pod) await tell(simulation, 'pod-restarted', { pod: podOf(pod) }, crash)
  },
  relate: async (simulation: Simulation, { crash }: Move) => {
    const relation = { id: 3, endpoint: 'database', interface: 'k8s-service', role: 'requires' }
    await tell(simulation, 'relation-changed', { relation, remote: { application: 'db', data: OFFER } }, crash)
    simulation.related = true
  },
  part: async (simulation: Simulation, { crash }: Move) => {
    await tell(simulation, 'relation-broken', { relation: { id: 3 } }, crash)
    simulation.related = false
  },
  resync: async (simulation: Simulation, { crash }: Move) => {
    await tell(simulation, 'resync', {}, crash)
  },
} satisfies Record<string, (simulation: Simulation, move: Move) => Promise<void>>

export const MOVE_NAMES = Object.keys(MOVES) as Move['what'][]

/** What became of it: the pods and units that were seen, and what no longer waits. */
const look = async (simulation: Simulation): Promise<void> => {
  simulation.view = await view(simulation.world)
  for (const pod of living(simulation)) simulation.pods.set(pod.metadata.uid ?? '', pod)
  const pending = simulation.world.memory()?.state.pending
  if (pending === undefined) {
    settle(simulation, simulation.waiting.get(simulation.view.leader?.unit ?? '') ?? {})
    simulation.waiting.clear()
  }
}

export const begin = async (type: Simulation['type']): Promise<Simulation> => {
  const simulation: Simulation = {
    world: createEmptyWorld(),
    type,
    count: 0,
    epoch: 0,
    view: { status: { status: '', message: '' }, settings: {}, units: [], labels: {}, services: [] },
    image: 'web:0',
    settings: {},
    waiting: new Map(),
    related: false,
    pods: new Map(),
    units: new Map(),
    said: new Map(),
  }
  await tell(simulation, 'config-changed', configOf(simulation, 'web:0'), 0)
  await look(simulation)
  return simulation
}

export const play = async (simulation: Simulation, move: Move): Promise<void> => {
  simulation.count += 1
  // what units tell so rarely is taken at once
  simulation.world.clock.advance(300_000)
  await MOVES[move.what](simulation, move)
  await look(simulation)
}

/** A stateful unit has its pod's number, a stateless number is one pod's for ever. */
const checkUnits = ({ type, view: { units: seen }, units }: Simulation): void => {
  for (const { unit, pod, uid } of seen) {
    const holder = [...units].find(([, had]) => had === unit)?.[0] ?? uid
    expect([uid, units.get(uid) ?? unit]).toEqual([uid, unit])
    if (type === 'stateful') expect(unit).toBe(`web/${pod.slice('web-'.length)}`)
    else expect([unit, holder]).toEqual([unit, uid])
    units.set(uid, unit)
  }
  expect(new Set(seen.map(({ unit }) => unit)).size).toBe(seen.length)
}

/** What has to hold after each move. */
export const check = (simulation: Simulation): void => {
  const { world, view: seen, said } = simulation
  checkUnits(simulation)
  // just what counts runs, whatever else was told
  expect(imageOf(world)).toBe(simulation.image)
  // settings outlive their writer
  expect(seen.settings).toEqual(simulation.settings)
  // nothing waits while somebody leads
  if (seen.leader !== undefined) expect(world.memory()?.state).not.toHaveProperty('pending')
  // only a unit that is there blocks the application
  const isBlocking = ({ uid }: { uid: string }) => said.get(uid)?.status === 'blocked'
  if (!seen.units.some(isBlocking)) expect(seen.status.status).not.toBe('blocked')
  // what was asked for stays for as long as the relation is there
  expect(seen.services.map(({ host }) => host)).toEqual(simulation.related ? ['db.shop.svc.cluster.local'] : [])
}

/** What has to hold once everything was told. */
export const checkEnd = async (simulation: Simulation): Promise<void> => {
  const { world } = simulation
  await world.send('resync', {})
  await look(simulation)
  check(simulation)
  const alive = living(simulation).map(({ metadata }) => metadata.uid)
  expect(simulation.view.units.map(({ uid }) => uid).toSorted()).toEqual(alive.toSorted())
  // whatever crashed on the way, nothing is left to do, and the same again is no write
  const before = JSON.stringify(world.api.objects())
  await world.send('resync', {})
  expect(JSON.stringify(world.api.objects())).toBe(before)
  // nothing of a pod gets out, nor into what is deployed
  const owned = world.api.objects().filter(({ kind }) => !['Pod', 'ConfigMap'].includes(kind))
  const out = JSON.stringify([owned.map(({ spec }) => spec), world.published])
  for (const { metadata } of simulation.pods.values()) expect(out).not.toContain(`"${metadata.name}"`)
  // nothing waits for its time, however many pods there are
  expect(JSON.stringify(world.memory()?.state.slowed ?? {})).not.toContain('held')
  if (alive.length > 0 && simulation.said.size === 0 && simulation.waiting.size === 0)
    expect(simulation.view.status.status).toBe('active')
}
