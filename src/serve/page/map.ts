import { createHash } from 'node:crypto'
import * as z from 'zod'
import { decidingPart, findState } from '../../ask/authorization/memories.ts'
import { hasMarks } from '../../ask/authorization/observe.ts'
import { accessAndHomes } from '../../ask/preview/access.ts'
import { type Asker, createAnswerQuery } from '../../ask/views/answer-query.ts'
import { graphOf } from '../../ask/views/graph.ts'
import type { Sender } from '../../core/access/authenticate.ts'
import { visibleTo } from '../../core/access/visibility.ts'
import type { Features } from '../../core/feature/combine.ts'
import { memoryOwner } from '../../core/state/memory.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { createKeptAnswers, type KeptAnswers, versionOfObject } from '../../platform/kubernetes/kept-answers.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import type { Kind, KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MANAGED_SELECTOR, MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { type ApplicationView, createApplications, type UnreadableView } from '../http/applications.ts'
import { type Asking, edgesOf } from './map-edges.ts'
import { nodesOf } from './map-nodes.ts'
import type { MapNode, PageMap } from './page-map.ts'

/** Builds a map. Resolves to undefined if the client already has the newest `version`. Rejects with Refused, 401 or 403, if the sender may not see it. */
export type Maps = (
  query: URLSearchParams,
  authorization: string | undefined,
  version?: string | undefined,
) => Promise<PageMap | undefined>

type Dependencies = Parameters<typeof createApplications>[0] & {
  /** The namespace to show if ConfigMaps of all namespaces may not be listed. */
  home?: string | undefined
  /** Lists the access of a client to an application. @default as the cluster's policies decide */
  accessTo?: typeof accessAndHomes
}

const Query = z.object({ namespace: z.array(Namespace) })

/** Each map reads all objects of its namespaces. */
const MOST_AT_ONCE = 8

/** The limit of kept answers: one for each namespace, each application, and each pair. */
const MOST_ANSWERS = 20_000

/** The time for which a map serves all who ask for the same version, in milliseconds. Pods and permissions are no part of the version. */
const SHARED_MILLISECONDS = 5_000

export const createMaps = (dependencies: Dependencies): Maps => {
  const { authenticate: _, home, accessTo = accessAndHomes, ...reading } = dependencies
  const { features, clock } = reading
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  const openAnswers = createKeptAnswers(clock, MOST_ANSWERS)
  const share = createLatest<PageMap>(clock, SHARED_MILLISECONDS)
  const draw = async (kubernetes: Kubernetes, shown: readonly string[]): Promise<Pick<PageMap, 'nodes' | 'edges'>> => {
    const answers = openAnswers(kubernetes)
    const viewsOf = (namespace: string) =>
      answers(`applications of ${namespace}`, async (recording, note) => {
        const near = withPolicies(recording, kubernetes, MANAGED_SELECTOR)
        const views = await createApplications({ ...reading, connect: () => near })
          .all({ namespace })
          .catch(noneIfMissing)
        await note(`policies of ${namespace}`, (client) => policiesIn(client, new Set([namespace])))
        return views
      })
    const all: (ApplicationView | UnreadableView)[] = []
    for (const namespace of shown) all.push(...(await viewsOf(namespace)))
    const listed = async (kinds: readonly Kind[]) =>
      (await Promise.all(shown.flatMap((namespace) => kinds.map((kind) => kubernetes.list(kind, namespace))))).flat()
    const views = all.filter((one) => !('problem' in one)) as ApplicationView[]
    const access = askingOnce(answers, features, kubernetes, accessTo)
    const open = await openOf(views, access)
    const graph = graphOf(views)
    const untold = untoldBy(features, all, await listed(WORKLOADS))
    const nodes = nodesOf({ all, graph, untold, open, services: await listed(['Service']) })
    return { nodes, edges: await edgesOf(graph, views, open, access) }
  }
  const mapOf = async (asked: readonly string[], version: string | undefined, { kubernetes, sender }: Asker) => {
    for (const namespace of asked) await sender?.authorize({ namespace })
    const known = new Set([...(await namespacesIn(kubernetes, home)), ...asked])
    const namespaces = (await visibleTo(sender, [...known], (namespace) => ({ namespace }))).toSorted()
    const shown = asked.length > 0 ? asked : namespaces
    const now = await versionOf(kubernetes, namespaces, shown)
    if (now === version) return undefined
    const map = await share(now, async () => ({
      ...{ namespaces, shown, version: now },
      ...(await draw(kubernetes, shown)),
    }))
    return { ...map, nodes: await withReasons(map.nodes, shown, sender) }
  }
  return async (query, authorization, version) => {
    const { namespace } = parseInput(Query, { namespace: query.getAll('namespace') }, 'query')
    return await answerQuery(authorization, (asker) => mapOf(namespace, version, asker))
  }
}

/** Shows a namespace that does not exist any more as empty. */
const noneIfMissing = (error: unknown): never[] => {
  if (error instanceof Refused && error.status === 404) return []
  throw error
}

/** Says why nothing is known of an application of a namespace that was not read for this map: what is not read may well have a memory. */
const withReasons = async (
  nodes: readonly MapNode[],
  shown: readonly string[],
  sender: Sender | undefined,
): Promise<MapNode[]> => {
  const isUnread = ({ status, namespace }: MapNode) => status === 'unknown' && !shown.includes(namespace)
  const namespaces = [...new Set(nodes.filter(isUnread).map(({ namespace }) => namespace))]
  const visible = new Set(await visibleTo(sender, namespaces, (namespace) => ({ namespace })))
  return nodes.map((node) => {
    if (!isUnread(node)) return node
    return {
      ...node,
      message: visible.has(node.namespace) ? 'its namespace is not on this map' : 'you may not read it',
    }
  })
}

/** Makes a value once for all who ask for the latest key. A rejection is not kept. */
const createLatest = <T>(clock: Pick<Clock, 'now'>, milliseconds: number) => {
  let latest: { readonly key: string; readonly until: number; readonly value: Promise<T> } | undefined
  return (key: string, make: () => Promise<T>): Promise<T> => {
    if (latest?.key === key && latest.until > clock.now()) return latest.value
    const one = { key, until: clock.now() + milliseconds, value: make() }
    latest = one
    one.value.catch(() => {
      if (latest === one) latest = undefined
    })
    return one.value
  }
}

/**
 * Answers anew only if something changed that decides: of the policies of the mesh only some do, and only a part of each memory. Of all pods of a namespace
 * it decides only whether any is marked as captured.
 */
const askingOnce =
  (answers: KeptAnswers, { memories }: Features, kubernetes: Kubernetes, accessTo: typeof accessAndHomes): Asking =>
  (from, to) =>
    answers(`${from ? subjectName(from) : ''} → ${subjectName(to)}`, async (recording, note) => {
      const near = withPolicies(recording, kubernetes, undefined)
      const partOf = (subject: Subject) => async (client: Kubernetes) =>
        hashOf(decidingPart(subject, await findState(memories, client, subject)))
      const find: Kubernetes['find'] = async (reference) => {
        const subject = memoryOwner(reference)
        if (subject === undefined) return await near.find(reference)
        await note(`mesh of ${subjectName(subject)}`, partOf(subject))
        return await kubernetes.find(reference)
      }
      const list: Kubernetes['list'] = async (kind, namespace, selector, options) => {
        if (kind !== 'Pod' || selector !== undefined) return await near.list(kind, namespace, selector, options)
        await note(`marks in ${namespace}`, async (client) => `${await hasMarks(client, namespace)}`)
        return await kubernetes.list(kind, namespace, selector, options)
      }
      const { access, homes } = await accessTo(from, to, { memories, kubernetes: { ...near, find, list } })
      await note(`policies of ${homes}`, (client) => policiesIn(client, new Set(homes)))
      return access
    })

/** Wraps a client so that a list of the policies of all namespaces is not recorded. */
const withPolicies = (recording: Kubernetes, kubernetes: Kubernetes, selector: string | undefined): Kubernetes => ({
  ...recording,
  list: (kind, namespace, labelSelector, options) => {
    const isMeant = kind === 'AuthorizationPolicy' && namespace === undefined && labelSelector === selector
    return (isMeant ? kubernetes : recording).list(kind, namespace, labelSelector, options)
  },
})

/** Describes the versions of the policies in some namespaces, and by which conditions Istio shows that it is there. */
const policiesIn = async (kubernetes: Kubernetes, homes: ReadonlySet<string>): Promise<string> => {
  const policies = (await listReadable(kubernetes, 'AuthorizationPolicy', undefined)) ?? []
  const near = policies.filter(({ metadata: { namespace = '' } }) => homes.has(namespace))
  return hashOf([near.map(versionOfObject), conditionsOf(policies)])
}

const conditionsOf = (objects: readonly KubernetesObject[]): string[] => {
  const all = objects.flatMap(
    ({ status }: { status?: { conditions?: { type: string }[] } }) => status?.conditions ?? [],
  )
  return [...new Set(all.map(({ type }) => type))].toSorted()
}

/** Lists the applications that any client may reach. */
const openOf = async (views: readonly ApplicationView[], access: Asking): Promise<ReadonlySet<string>> => {
  const open = new Set<string>()
  for (const view of views)
    if ((await access(undefined, view)).some(({ after }) => after === 'allowed')) open.add(subjectName(view))
  return open
}

/** Lists the namespaces with memories, or those with workloads if there are no memories. Without the right to list all, it lists the process's own. */
const namespacesIn = async (kubernetes: Kubernetes, home: string | undefined): Promise<string[]> => {
  const list = async (kind: Kind, selector?: string) => await ifPermitted(kubernetes.list(kind, undefined, selector))
  const memories = await list('ConfigMap', MEMORY_SELECTOR)
  if (memories === undefined) return home === undefined ? [] : [home]
  const found = memories.length > 0 ? memories : (await Promise.all(WORKLOADS.map((kind) => list(kind)))).flat()
  return found.flatMap((one) => one?.metadata.namespace ?? [])
}

const WORKLOADS: readonly Kind[] = ['StatefulSet', 'Deployment']
const KINDS: readonly Kind[] = [...WORKLOADS, 'Service']

/** Lists the workloads of no application, by `namespace/name`. A workload of a controller, such as a waypoint, is none. */
const untoldBy = (
  features: Features,
  views: readonly (ApplicationView | UnreadableView)[],
  workloads: readonly KubernetesObject[],
): ReadonlySet<string> => {
  const told = new Set(
    views
      .filter(isPresent)
      .flatMap((view) => [
        subjectName(view),
        ...('problem' in view ? [] : features.targets(view.application, view.config))
          .filter(({ kind }) => kind !== 'Service')
          .map(({ name }) => `${view.namespace}/${name}`),
      ]),
  )
  const ids = workloads
    .filter(({ metadata }) => metadata.ownerReferences === undefined)
    .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)
  return new Set(ids).difference(told)
}

const isPresent = (view: ApplicationView | UnreadableView): boolean =>
  'problem' in view || view.status.status !== 'removed'

const versionOf = async (kubernetes: Kubernetes, namespaces: readonly string[], shown: readonly string[]) => {
  const lists = await Promise.all([
    ...shown.flatMap((namespace) => [
      kubernetes.list('ConfigMap', namespace, MEMORY_SELECTOR),
      ...KINDS.map((kind) => kubernetes.list(kind, namespace)),
    ]),
    ...(['AuthorizationPolicy', 'Gateway'] as const).map(
      async (kind) => (await listReadable(kubernetes, kind, undefined)) ?? [],
    ),
  ])
  return hashOf([namespaces, shown, lists.flat().map(versionOfObject)])
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url')
