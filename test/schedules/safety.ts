import { outcomesOf } from '../ask/authorization/istio/route.ts'
import { worldOf } from '../helpers/safety.ts'
import { type Exclusion, OPEN_FOR_A_MOMENT, REFUSED_FOR_A_MOMENT } from './excluded.ts'
import { ALIAS, NAMESPACE, namespaceOf } from './fixture.ts'
import { type Knowledge, labelsOn, type Moment } from './monitor.ts'
import type { KubernetesObject } from './process.ts'
import type { Request } from './reach-table.ts'
import type { World } from './world.ts'

/** The application that declares policies, as long as it has a config. */
const GUARDED = 'details'

const CLIENTS = ['productpage', 'reviews', 'orders', ALIAS.name, ALIAS.of] as const

/** It is on the mesh, and nobody is ever told of it. */
const STRANGER = 'stranger'

/** Whether details is on the mesh, and which requests pass there, by their names. */
type Reach = { readonly isEnrolled: boolean; readonly passing: ReadonlySet<string> }

const TARGETS = { Service: { application: GUARDED, service: GUARDED }, pods: { application: GUARDED } }

/** What tells one policy from another; a ztunnel sees no more of it than a port. */
const ASKED = {
  Service: [
    { method: 'GET', path: '/' },
    { method: 'GET', path: '/health' },
    { method: 'POST', path: '/' },
  ],
  pods: [{ method: 'GET', path: '/' }],
} as const

const TARGET_NAMES = ['Service', 'pods'] as const

/** Each request that is asked about, by its name. */
export const REQUESTS: ReadonlyMap<string, Request> = new Map(
  [false, true].flatMap((autoAllow) =>
    TARGET_NAMES.flatMap((target) =>
      ASKED[target].flatMap((asked) =>
        [...CLIENTS, STRANGER].map((client) => {
          const name = `${client} ${asked.method} ${asked.path} of the ${target}${autoAllow ? ' with auto-allow' : ''}`
          return [name, { client, target, ...asked, autoAllow }] as const
        }),
      ),
    ),
  ),
)

const evaluate = (objects: readonly KubernetesObject[]): Reach => {
  const worldWith = (autoAllow: boolean) => worldOf({ objects: () => objects }, { autoAllow })
  const worlds = { true: worldWith(true), false: worldWith(false) }
  const passing = [...REQUESTS].filter(([, { client, target, method, path, autoAllow }]) => {
    const from = { namespace: namespaceOf(client), serviceAccount: client }
    const request = { from, to: { namespace: NAMESPACE, ...TARGETS[target] }, port: 9080, method, path }
    return outcomesOf(request, worlds[`${autoAllow}`]).has(true)
  })
  const workload = worlds.true.workloads.find(({ name }) => name === GUARDED)
  return { isEnrolled: workload?.onMesh === true, passing: new Set(passing.map(([name]) => name)) }
}

/** The same few clusters come again in thousands of histories. */
const evaluated = new Map<string, Reach>()

const reachIn = (objects: ReadonlyMap<string, Relevant>): Reach => {
  const key = [...objects.values()]
    .map(({ text }) => text)
    .toSorted()
    .join('\n')
  const reach = evaluated.get(key) ?? evaluate(asRunning([...objects.values()].map(({ object }) => object)))
  evaluated.set(key, reach)
  return reach
}

/** The objects with the workload as its pod is, where it has one: its template is of pods to come. */
const asRunning = (objects: readonly KubernetesObject[]): KubernetesObject[] => {
  const pod = objects.find(({ kind }) => kind === 'Pod')
  const others = objects.filter((object) => object !== pod)
  if (pod === undefined) return others
  const template = { metadata: { labels: pod.metadata.labels } }
  return others.map((object) =>
    object.kind === 'StatefulSet' ? { ...object, spec: { ...object.spec, template } } : object,
  )
}

const isEnrolling = (object: KubernetesObject): boolean =>
  (object.kind === 'StatefulSet' || object.kind === 'Namespace') &&
  labelsOn(object)['istio.io/dataplane-mode'] === 'ambient'

/** Tells if an object is the policy of hardened mode that is written last. */
const isOfHardenedMode = ({ metadata: { name } }: KubernetesObject): boolean =>
  name.endsWith('-global-allow-nothing-waypoint')

/** An object that decides who reaches details, and what of it does. */
type Relevant = { readonly object: KubernetesObject; readonly text: string }

const textOf = ({ kind, metadata: { namespace, name, labels }, spec }: KubernetesObject): string => {
  const isLabelled = kind === 'Service' || kind === 'Gateway' || kind === 'Pod' || kind === 'Namespace'
  return JSON.stringify([kind, namespace, name, isLabelled ? [labels, spec?.selector] : spec])
}

const isRelevant = ({ kind, metadata: { name } }: KubernetesObject): boolean =>
  kind === 'AuthorizationPolicy' ||
  kind === 'Gateway' ||
  (kind === 'Namespace' && name === NAMESPACE) ||
  ((kind === 'Service' || kind === 'StatefulSet') && name === GUARDED) ||
  (kind === 'Pod' && name.startsWith(`${GUARDED}-`))

/** Who reaches details in the end, as `REQUESTS` name it. */
export const findReach = (objects: readonly KubernetesObject[]): Reach =>
  reachIn(new Map(objects.filter(isRelevant).map(relevantOf)))

const relevantOf = (object: KubernetesObject): [string, Relevant] => {
  const { kind, metadata } = object
  return [`${kind} ${metadata.namespace} ${metadata.name}`, { object, text: textOf(object) }]
}

/**
 * Watches every write for who reaches details at that moment, by the evaluator on the objects as they are: nobody whom the platform has let
 * in all the time is refused, and nobody else gets in as long as details declares policies and belongs on the mesh.
 */
export const watchReach = (world: World, knowledge: Knowledge): void => {
  const { clients, isDeclaring, isEnrolled, isForgotten } = knowledge
  const objects = new Map(world.api.objects().filter(isRelevant).map(relevantOf))
  // pods follow their template: whoever takes its labels takes them off the mesh
  const isLabelled = () => [...objects.values()].some(({ object }) => isEnrolling(object))
  const isDenying = () => [...objects.values()].some(({ object }) => isOfHardenedMode(object))
  const isGuarded = () =>
    [...objects.values()].some(({ object }) => object.kind === 'AuthorizationPolicy' && !isOfHardenedMode(object))
  let [before, wasLabelled, wasDenying, wasGuarded] = [reachIn(objects), isLabelled(), isDenying(), isGuarded()]

  const report = (problem: string) => {
    world.log(() => `  !! ${problem}`)
    world.wrong.push(problem)
  }

  const isExcluded = (exclusions: readonly Exclusion[], object: KubernetesObject): boolean => {
    const service = objects.get(`Service ${NAMESPACE} ${GUARDED}`)?.object
    const policies = [...objects.values()].map((one) => one.object).filter(({ kind }) => kind === 'AuthorizationPolicy')
    const isGone = !objects.has(relevantOf(object)[0])
    const write = { object, isGone, service, policies, beacons: knowledge.beacons(), ...knowledge.byHand() }
    return exclusions.some(({ isMet }) => isMet(write))
  }

  const momentNow = (): Moment => ({
    // whoever takes hardened mode away opens what it closed
    isDenying: wasDenying || isDenying(),
    isGuarded: wasGuarded || isGuarded(),
    isNamespaceOnMesh: [...objects.values()].some(({ object }) => object.kind === 'Namespace' && isEnrolling(object)),
  })

  const checkOpen = (now: Reach, object: KubernetesObject, wrote: string): void => {
    const opened = findOpened(before, now, isForgotten())
    const isLeaving = wasLabelled && !isLabelled() && isEnrolled()
    const isMeant = (opened.length === 0 && !isLeaving) || !isDeclaring() || isExcluded(OPEN_FOR_A_MOMENT, object)
    if (isMeant) return
    const wrongly = opened
      .filter(([, request]) => !knowledge.mayPassStranger(request, momentNow()))
      .map(([name]) => name)
    if (wrongly.length > 0 || isLeaving)
      report(`details is open by ${wrote}: ${isLeaving ? 'it leaves the mesh' : wrongly.join(', ')}`)
  }

  const checkRefused = (now: Reach, object: KubernetesObject, wrote: string): void => {
    const refused = findRefused(before, now)
    if (isExcluded(REFUSED_FOR_A_MOMENT, object)) return
    const related = refused.length > 0 ? clients() : []
    for (const [name, request] of refused)
      if (related.includes(request.client) && knowledge.mustPass(request)) report(`${wrote} refuses ${name}`)
  }

  world.api.subscribe(({ type, object }) => {
    if (!isRelevant(object)) return
    const [key, entry] = relevantOf(object)
    if (type === 'DELETED') objects.delete(key)
    else objects.set(key, entry)
    const now = reachIn(objects)
    const wrote = `${type} ${object.kind} ${object.metadata.name}`
    checkOpen(now, object, wrote)
    checkRefused(now, object, wrote)
    before = now
    wasLabelled = isLabelled()
    wasDenying = isDenying()
    wasGuarded = isGuarded()
  })
}

type NamedRequest = readonly [string, Request]

/** What clients did at the Service, where details lets them in, and cannot any more. */
const findRefused = (before: Reach, now: Reach): NamedRequest[] =>
  [...REQUESTS].filter(
    ([name, { client, target }]) =>
      client !== STRANGER && target === 'Service' && before.passing.has(name) && !now.passing.has(name),
  )

/** Where strangers get in, and did not before; what was off the mesh before is closed with it, unless it has itself forgotten that it should be. */
const findOpened = (before: Reach, now: Reach, isForgotten: boolean): NamedRequest[] => {
  if (!now.isEnrolled || (isForgotten && !before.isEnrolled)) return []
  return [...REQUESTS].filter(
    ([name, { client }]) =>
      client === STRANGER && now.passing.has(name) && (!before.isEnrolled || !before.passing.has(name)),
  )
}
