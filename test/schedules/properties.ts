import { isDeepStrictEqual } from 'node:util'
import { BEACONS, NAMESPACE, NAMESPACES, namespaceOf, type Variant, workloadsOf } from './fixture.ts'
import { buildFresh, type Kind } from './fresh.ts'
import { OWN } from './monitor.ts'
import type { Platform } from './platform.ts'
import type { Event } from './process.ts'
import { mayPass } from './reach-table.ts'
import { findReach, REQUESTS } from './safety.ts'
import type { Schedule } from './schedule.ts'
import { compareSnapshots, findAdmitted, isEnrolled, type Snapshot, takeSnapshot } from './snapshot.ts'
import {
  findClients,
  findTruth,
  hasWaypoint,
  isOnMesh,
  labelsOf,
  meshOf,
  namespaceLabelsOf,
  rulesOf,
  type Truth,
} from './truth.ts'
import type { World } from './world.ts'

/** A property that does not hold, and how. */
export type Violation = { property: string; details: readonly string[] }

/** Sends `resync` for an application, or for each namespace. */
export const sendResync = (world: World, application: string | undefined): void => {
  const isThere = (namespace: string) => world.api.objects().some(({ metadata }) => metadata.namespace === namespace)
  const namespaces = application === undefined ? NAMESPACES.filter(isThere) : [namespaceOf(application)]
  for (const namespace of namespaces) sendResyncIn(world, namespace, application)
}

const sendResyncIn = (world: World, namespace: string, application: string | undefined): void => {
  const event: Event = {
    id: world.newId(),
    source: '/platform/resync',
    type: 'dev.meshstep.resync.v1',
    subject: application === undefined ? namespace : `${namespace}/${application}`,
    datacontenttype: 'application/json',
    extensions: {},
    data: { namespace, ...(application !== undefined && { application }) },
  }
  const name = `resync of ${application ?? namespace}`
  const letter = { event, name, application: application ?? '', attempts: 0, isAnswered: false, after: [] }
  world.network.push({ ...letter, isPlatform: true })
}

const differs = (what: string, expected: unknown, found: unknown): string[] =>
  isDeepStrictEqual(expected, found)
    ? []
    : [`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`]

/** The labels of which all are known here. */
const labelsThere = ({ labels }: Snapshot, name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(labels[name] ?? {}).filter(([key]) => !/^(app\.kubernetes\.io|kubernetes\.io)\//.test(key)),
  )

/** What each beacon's config has it run. */
const findMeshMistakes = (truth: Truth, found: Snapshot): string[] =>
  BEACONS.flatMap((beacon) => {
    const mesh = meshOf(truth, beacon)
    const waypoint = Object.keys(found.others).includes(`Gateway ${NAMESPACE}-${beacon}-waypoint`)
    const denying = Object.keys(found.policies).filter((name) =>
      name.startsWith(`${beacon}-${NAMESPACE}-policy-global-`),
    )
    return [
      ...differs(`the waypoint of ${beacon}`, mesh !== undefined && hasWaypoint(mesh), waypoint),
      ...differs(`what ${beacon} denies in the whole mesh`, mesh?.hardened ? 2 : 0, denying.length),
    ]
  })

/** Compares who may reach details, by who is let in and by what passes. */
const findReachMistakes = (truth: Truth, found: Snapshot, world: World): string[] => {
  const inside = findAdmitted(found, 'details').filter((name) => !OWN.includes(name))
  const rules = rulesOf(truth)
  const { passing } = findReach(world.api.objects())
  const wrong = [...REQUESTS].flatMap(([name, request]) => {
    const isRight = !isOnMesh(truth, 'details') || mayPass(request, rules)
    return isRight === passing.has(name) ? [] : [`${name} ${isRight ? 'is refused' : 'passes'}, which is wrong`]
  })
  return [...differs('details lets in', findClients(truth), inside), ...wrong]
}

/** Compares what is there with what the platform's last words mean, worked out by hand: independent of the code. */
const findMistakes = (variant: Variant, truth: Truth, world: World): string[] => {
  const found = takeSnapshot(world)
  const mistakes = workloadsOf(variant)
    // productpage has no config, and asks for nothing: whether it waits for one is not known here
    .filter((name) => name !== 'productpage' && isEnrolled(found, name) !== isOnMesh(truth, name))
    .map((name) => `${name} is ${isEnrolled(found, name) ? 'on the mesh' : 'off the mesh'}, which is wrong`)
  return [
    ...mistakes,
    ...findMeshMistakes(truth, found),
    ...differs('labels of the namespace', namespaceLabelsOf(truth), labelsThere(found, `Namespace ${NAMESPACE}`)),
    ...(variant === 'mesh'
      ? [
          ...differs('labels of details', labelsOf(truth, 'details'), labelsThere(found, 'StatefulSet details')),
          ...findReachMistakes(truth, found, world),
        ]
      : []),
  ]
}

/** a: the cluster is as the platform's last words have it. */
export const checkConvergence = async (kind: Kind, platform: Platform, world: World): Promise<Violation[]> => {
  const truth = findTruth(platform)
  const details = [
    ...findMistakes(kind.variant, truth, world),
    ...compareSnapshots(await buildFresh(kind, truth), takeSnapshot(world)),
  ]
  return details.length === 0 ? [] : [{ property: 'a: the cluster is as from scratch', details }]
}

/** c: once all is as it should be, a resync of each side writes nothing. */
export const checkQuiet = async (sides: readonly string[], schedule: Schedule, world: World): Promise<Violation[]> => {
  const writes: string[] = []
  const stop = world.api.subscribe(({ type, object }) => {
    const what = `${type} ${object.kind} ${object.metadata.name}`
    world.log(() => `  wrote: ${what}`)
    writes.push(what)
  })
  // the first round mends what only the sides of another relation know of
  for (const side of sides) {
    world.log(() => `-- a resync of ${side}`)
    sendResync(world, side)
    await schedule.runCalmly()
  }
  writes.length = 0
  for (const side of sides) {
    world.log(() => `-- a quiet resync of ${side}`)
    sendResync(world, side)
    await schedule.runCalmly()
  }
  stop()
  return writes.length === 0 ? [] : [{ property: 'c: a resync writes nothing when nothing differs', details: writes }]
}

/** Events of all processes together in a small history. */
const MOST_EVENTS = 40
/** For each word an application tells a peer, and is answered; and each of the processes that take something at once tells it, while the peer has not looked yet. */
const MOST_EVENTS_EACH = 2

/** The peers of the application that has most of them: there is one at each end of a relation. */
const mostPeers = ({ said }: Platform): number => {
  const relations = said.facts.flatMap((fact) => ('relation' in fact ? [fact.relation] : []))
  const ends = relations.flatMap(({ provider: { application: one }, requirer: { application: other } }) => [
    { from: one, to: other },
    { from: other, to: one },
  ])
  const peers = [...Map.groupBy(ends, ({ from }) => from).values()].map((all) => new Set(all.map(({ to }) => to)).size)
  return Math.max(2, ...peers)
}

/** How often there was something to tell: an event of the platform, a pod that was replaced, an event once more, and what a dead process had begun. */
const wordsIn = ({ course }: World, { said }: Platform): number =>
  said.letters.length + course.replaced + course.faults.doubled + course.faults.killed

/** c: the number of events is bounded by what was told, and by the peers and processes that each word passes. */
export const checkEvents = (world: World, platform: Platform, atOnce: number): Violation[] => {
  const { published } = world.totals
  const each = MOST_EVENTS_EACH * Math.max(mostPeers(platform), atOnce)
  const most = Math.max(MOST_EVENTS, each * wordsIn(world, platform))
  if (published <= most) return []
  return [{ property: 'c: few events', details: [`${published} events were sent, expected at most ${most}`] }]
}
