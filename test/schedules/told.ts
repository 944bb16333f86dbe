import { BEACONS, memoryName, NAMESPACES, namespaceOf } from './fixture.ts'
import { buildFresh, type Kind } from './fresh.ts'
import { withoutOwn } from './hands.ts'
import { ALL_SIDES } from './plan.ts'
import type { Platform } from './platform.ts'
import { askApplications, type TransportRequest, type View } from './process.ts'
import type { Violation } from './properties.ts'
import { compareSnapshots, isEnrolled, takeSnapshot } from './snapshot.ts'
import { findTruth, isRemoved, standing } from './truth.ts'
import { objectNamed, type World } from './world.ts'

/** What an application's status tells, and what it waits for. */
export type Status = { readonly status: string; readonly text: string; readonly held: readonly string[] }

/** Asks for the status of each application; nothing is written, and no time passes. */
export const askStatuses = async (world: World): Promise<ReadonlyMap<string, Status>> => {
  const clock = { now: world.now, random: () => 0, sleep: async () => undefined, yieldTurn: async () => undefined }
  const transport = async (request: TransportRequest) => world.api.handle(request)
  const views = await Promise.all(NAMESPACES.map((namespace) => askApplications(namespace, { transport, clock })))
  return new Map(views.flat().map((view) => [view.application, statusOf(view)]))
}

const statusOf = (view: View): Status => {
  if ('problem' in view) return { status: 'error', text: view.problem, held: [] }
  const { status, conditions, messages } = view
  const text = [status.message, ...conditions.map(({ message }) => message), ...messages].join('; ')
  return { status: status.status, text, held: conditions.map(({ object }) => object) }
}

/** e: an application of which something is not as the platform's last words have it says so in its status. */
export const checkTold = async (kind: Kind, platform: Platform, world: World): Promise<Violation[]> => {
  const expected = await buildFresh(kind, findTruth(platform))
  const found = takeSnapshot(world)
  const labels = Object.fromEntries(
    Object.entries(found.labels).map(([name, there]) => [name, withoutOwn(there, expected.labels[name])]),
  )
  const differing = compareSnapshots(expected, { ...found, labels })
  if (differing.length === 0) return []
  const statuses = await askStatuses(world)
  const details = differing.filter((text) => {
    const owners = ownersOf(text).map((name) => statuses.get(name))
    const named = namedIn(text).map((name) => statuses.get(name))
    world.log(() => `  ${text} ${JSON.stringify({ owners, named })}`)
    const isTold = owners.some((one) => one !== undefined && one.status !== 'active')
    return !isTold && named.every((one) => one === undefined || one.held.length === 0)
  })
  return details.length === 0 ? [] : [{ property: 'e: what differs is told in a status', details }]
}

/** Those who may tell of a thing in a snapshot: whose name its own begins with, and of the namespace any beacon. */
const ownersOf = (text: string): readonly string[] => {
  const [name = ''] = text.split(':')
  return name.startsWith('Namespace ') ? BEACONS : namedIn(text).slice(0, 1)
}

/** Those whom the name of a thing names, in their order: who waits for something tells of it as well, as a consumer of its beacon's policies. */
const namedIn = (text: string): readonly string[] => {
  const [name = ''] = text.split(':')
  return ALL_SIDES.filter((side) => name.includes(side)).toSorted(
    (one, other) => name.indexOf(one) - name.indexOf(other),
  )
}

/** e: who is related to a mesh and is not on it, and whose memory awaits something, says so in its status. */
export const checkWaits = async (platform: Platform, world: World): Promise<Violation[]> => {
  const truth = findTruth(platform)
  const found = takeSnapshot(world)
  const statuses = await askStatuses(world)
  const outside = standing(truth)
    .filter(({ interface: name }) => name === 'service_mesh')
    .filter(({ requirer }) => !isEnrolled(found, requirer.application))
    // the removal of an application ends its relations
    .filter(({ requirer, provider }) => [requirer, provider].every(({ application }) => !isRemoved(truth, application)))
    .map(({ requirer, provider }) => [requirer.application, `is not on the mesh of ${provider.application}`] as const)
  const awaiting = [...statuses.keys()].flatMap((name) => awaitedBy(world, name).map((what) => [name, what] as const))
  const details = [...outside, ...awaiting]
    .filter(([name]) => statuses.get(name)?.status === 'active' || statuses.get(name)?.held.length === 0)
    .map(([name, what]) => `${name} ${what}, and waits for nothing: ${statuses.get(name)?.text}`)
  return details.length === 0 ? [] : [{ property: 'e: who waits says so in its status', details }]
}

/** What the memory of an application says that it awaits. */
const awaitedBy = ({ api }: World, application: string): string[] => {
  const memory = objectNamed(api, 'ConfigMap', memoryName(application), namespaceOf(application))
  const { awaiting, lost, relations = {} } = JSON.parse(memory?.data?.state ?? '{}') as Awaiting
  return [
    ...(awaiting === undefined ? [] : [`awaits ${awaiting}`]),
    ...(lost?.labels ? ['does not know who asked for its labels'] : []),
    ...(lost?.endpoints === undefined && lost?.ended === undefined ? [] : ['does not know its relations']),
    ...Object.entries(relations).flatMap(([key, { claim }]) =>
      claim === undefined || claim.phase === 'applied' ? [] : [`is about to change relation ${key}`],
    ),
  ]
}

type Awaiting = {
  readonly awaiting?: string
  readonly lost?: { readonly labels?: true; readonly endpoints?: unknown; readonly ended?: unknown }
  readonly relations?: Readonly<Record<string, { readonly claim?: { readonly phase: string } }>>
}
