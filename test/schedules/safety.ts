import { outcomesOf } from '../authorization/istio/route.ts'
import { worldOf } from '../helpers/safety.ts'
import { NAMESPACE } from './fixture.ts'
import { type Knowledge, labelsOn } from './monitor.ts'
import type { KubernetesObject } from './process.ts'
import type { World } from './world.ts'

/** The application that declares policies, as long as it has a config. */
const GUARDED = 'details'

const CLIENTS = ['productpage', 'reviews'] as const

/** It is on the mesh, and nobody is ever told of it. */
const STRANGER = 'stranger'

/** Whether details is on the mesh, and who may pass there: `productpage Service true`, the last for Istio's auto-allow. */
type Reach = { readonly isEnrolled: boolean; readonly passing: ReadonlySet<string> }

const TARGETS = { Service: { application: GUARDED, service: GUARDED }, pods: { application: GUARDED } }

const SETTINGS = [false, true]

const evaluate = (objects: readonly KubernetesObject[]): Reach => {
  const worlds = SETTINGS.map((autoAllow) => ({ autoAllow, world: worldOf({ objects: () => objects }, { autoAllow }) }))
  const passing = worlds.flatMap(({ autoAllow, world }) =>
    [...CLIENTS, STRANGER].flatMap((client) =>
      Object.entries(TARGETS).flatMap(([target, to]) => {
        const from = { namespace: NAMESPACE, serviceAccount: client }
        const request = { from, to: { namespace: NAMESPACE, ...to }, port: 9080, method: 'GET', path: '/' }
        return outcomesOf(request, world).has(true) ? [`${client} ${target} ${autoAllow}`] : []
      }),
    ),
  )
  const workload = worlds[0]?.world.workloads.find(({ name }) => name === GUARDED)
  return { isEnrolled: workload?.onMesh === true, passing: new Set(passing) }
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
  object.kind === 'StatefulSet' && Object.hasOwn(labelsOn(object), 'istio.io/dataplane-mode')

/** An object that decides who reaches details, and what of it does. */
type Relevant = { readonly object: KubernetesObject; readonly text: string }

const textOf = ({ kind, metadata: { namespace, name, labels }, spec }: KubernetesObject): string => {
  const isLabelled = kind === 'Service' || kind === 'Gateway' || kind === 'Pod'
  return JSON.stringify([kind, namespace, name, isLabelled ? [labels, spec?.selector] : spec])
}

const isRelevant = ({ kind, metadata: { name } }: KubernetesObject): boolean =>
  kind === 'AuthorizationPolicy' ||
  kind === 'Gateway' ||
  ((kind === 'Service' || kind === 'StatefulSet') && name === GUARDED) ||
  (kind === 'Pod' && name.startsWith(`${GUARDED}-`))

/**
 * Watches every write for who reaches details at that moment, by the evaluator on the objects as they are: nobody whom the platform has let
 * in all the time is refused, and nobody else gets in as long as details declares policies and belongs on the mesh.
 */
export const watchReach = (world: World, { clients, isDeclaring, isEnrolled, isForgotten }: Knowledge): void => {
  const keyOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.namespace} ${metadata.name}`
  const relevant = (object: KubernetesObject): [string, Relevant] => [keyOf(object), { object, text: textOf(object) }]
  const objects = new Map(world.api.objects().filter(isRelevant).map(relevant))
  // pods follow their template: whoever takes its labels takes them off the mesh
  const isLabelled = () => [...objects.values()].some(({ object }) => isEnrolling(object))
  let [before, wasLabelled] = [reachIn(objects), isLabelled()]

  const report = (problem: string) => {
    world.log(() => `  !! ${problem}`)
    world.wrong.push(problem)
  }

  const checkOpen = (now: Reach, wrote: string): void => {
    const opened = findOpened(before, now, isForgotten())
    const isLeaving = wasLabelled && !isLabelled() && isEnrolled()
    if ((opened.length > 0 || isLeaving) && isDeclaring())
      report(`details is open by ${wrote}: ${isLeaving ? 'it leaves the mesh' : opened.join(', ')}`)
  }

  const checkRefused = (now: Reach, wrote: string): void => {
    const refused = CLIENTS.filter((client) => isRefused(client, before, now))
    const related = refused.length > 0 ? clients() : []
    for (const client of refused) if (related.includes(client)) report(`${client} is refused by ${wrote}`)
  }

  world.api.subscribe(({ type, object }) => {
    if (!isRelevant(object)) return
    const [key, entry] = relevant(object)
    if (type === 'DELETED') objects.delete(key)
    else objects.set(key, entry)
    const now = reachIn(objects)
    const wrote = `${type} ${object.kind} ${object.metadata.name}`
    checkOpen(now, wrote)
    checkRefused(now, wrote)
    before = now
    wasLabelled = isLabelled()
  })
}

/** Details lets its clients in at the Service. */
const isRefused = (client: string, before: Reach, now: Reach): boolean =>
  SETTINGS.map((autoAllow) => `${client} Service ${autoAllow}`).some(
    (one) => before.passing.has(one) && !now.passing.has(one),
  )

/** Where strangers get in, and did not before; what was off the mesh before is closed with it, unless nobody knows any more that it should be. */
const findOpened = (before: Reach, now: Reach, isForgotten: boolean): string[] => {
  if (!now.isEnrolled || (isForgotten && !before.isEnrolled)) return []
  const open = [...now.passing].filter((one) => one.startsWith(`${STRANGER} `))
  return before.isEnrolled ? open.filter((one) => !before.passing.has(one)) : open
}
