import { createHash } from 'node:crypto'
import * as z from 'zod'
import { type Access, accessNow } from '../../ask/preview/access.ts'
import { type Graph, graphOf, type Related } from '../../ask/views/graph.ts'
import { waypointOf } from '../../ask/views/waypoint.ts'
import { type Asker, createAnswerQuery } from '../../core/access/answer-query.ts'
import type { Authenticate } from '../../core/access/authenticate.ts'
import type { AuthorizeAuthor } from '../../core/access/document-authors.ts'
import { visibleTo } from '../../core/access/visibility.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { ifPermitted, ifServed } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Kind, KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { type ApplicationView, createApplications, type UnreadableView } from '../http/applications.ts'
import { labelBox, layOut, nodeBox } from './layout.ts'
import type { MapEdge, MapNode, PageMap } from './page-map.ts'

/** Builds a map. Resolves to undefined if the client already has the newest `version`. Rejects with Refused, 401 or 403, if the sender may not see it. */
export type Maps = (
  query: URLSearchParams,
  authorization: string | undefined,
  version?: string | undefined,
) => Promise<PageMap | undefined>

type Dependencies = {
  features: Features
  connect(deadline: number): Kubernetes
  authenticate?: Authenticate | undefined
  /** Without it, documents of any author are accepted. */
  authorizeAuthor?: AuthorizeAuthor | undefined
  clock: Clock
  environment: Environment
  timeoutMilliseconds: number
  /** The namespace to show if ConfigMaps of all namespaces may not be listed. */
  home?: string | undefined
}

const Query = z.object({ namespace: z.array(Namespace) })

/** Each map reads all objects of its namespaces. */
const MOST_AT_ONCE = 8

export const createMaps = (dependencies: Dependencies): Maps => {
  const { features, authorizeAuthor, clock, environment, timeoutMilliseconds, home } = dependencies
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  const mapOf = async (asked: readonly string[], version: string | undefined, { kubernetes, sender }: Asker) => {
    for (const namespace of asked) await sender?.authorize({ namespace })
    const known = new Set([...(await namespacesIn(kubernetes, home)), ...asked])
    const namespaces = (await visibleTo(sender, [...known], (namespace) => ({ namespace }))).toSorted()
    const shown = asked.length > 0 ? asked : namespaces
    const now = await versionOf(kubernetes, namespaces, shown)
    if (now === version) return undefined
    const applications = createApplications({
      authorizeAuthor,
      features,
      connect: () => kubernetes,
      clock,
      environment,
      timeoutMilliseconds,
    })
    const views: (ApplicationView | UnreadableView)[] = []
    for (const namespace of shown) views.push(...(await applications.all({ namespace })))
    const listed = async (kinds: readonly Kind[]) =>
      (await Promise.all(shown.flatMap((namespace) => kinds.map((kind) => kubernetes.list(kind, namespace))))).flat()
    const services = await listed(['Service'])
    const untold = untoldBy(features, views, await listed(WORKLOADS))
    const access: Asking = (from, to) => accessNow(from, to, { memories: features.memories, kubernetes })
    const drawn = await draw(views, untold, services, access)
    return { namespaces, shown, ...drawn, version: now }
  }
  return async (query, authorization, version) => {
    const parsed = Query.safeParse({ namespace: query.getAll('namespace') })
    if (!parsed.success) throw new Refused(400, `query: ${describeIssues(parsed.error)}`)
    return await answerQuery(authorization, (asker) => mapOf(parsed.data.namespace, version, asker))
  }
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

/** Lists the workloads without a memory, by `namespace/name`. A workload of a controller, such as a waypoint, is no application. */
const untoldBy = (
  features: Features,
  views: readonly (ApplicationView | UnreadableView)[],
  workloads: readonly KubernetesObject[],
): ReadonlySet<string> => {
  const told = new Set(
    views.flatMap((view) => [
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

const versionOf = async (kubernetes: Kubernetes, namespaces: readonly string[], shown: readonly string[]) => {
  const lists = await Promise.all([
    ...shown.flatMap((namespace) => [
      kubernetes.list('ConfigMap', namespace, MEMORY_SELECTOR),
      ...KINDS.map((kind) => kubernetes.list(kind, namespace)),
    ]),
    ...(['AuthorizationPolicy', 'Gateway'] as const).map((kind) => listIfKnown(kubernetes, kind)),
  ])
  const versions = lists
    .flat()
    .map(({ kind, metadata: { uid, resourceVersion } }) => `${kind} ${uid} ${resourceVersion}`)
  return createHash('sha256')
    .update(JSON.stringify([namespaces, shown, versions]))
    .digest('base64url')
}

const listIfKnown = async (kubernetes: Kubernetes, kind: Kind): Promise<KubernetesObject[]> =>
  (await ifPermitted(ifServed(kubernetes.list(kind, undefined)))) ?? []

type Asking = (from: Subject | undefined, to: Subject) => Promise<Access[]>

const draw = async (
  all: readonly (ApplicationView | UnreadableView)[],
  untold: ReadonlySet<string>,
  services: readonly KubernetesObject[],
  access: Asking,
) => {
  const ports = new Map(services.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, portsOf(spec)]))
  const views = all.filter((one) => !('problem' in one)) as ApplicationView[]
  const problems = new Map(all.flatMap((one) => ('problem' in one ? [[subjectName(one), one.problem] as const] : [])))
  const graph = graphOf(views)
  const ids = [...new Set([...graph.nodes.map(({ id }) => id), ...problems.keys(), ...untold])]
  const open = new Set<string>()
  for (const { namespace, application } of views)
    if ((await access(undefined, { namespace, application })).some(({ after }) => after === 'allowed'))
      open.add(`${namespace}/${application}`)
  const edges = await edgesOf(graph, views, open, access)
  const byId = new Map(views.map((view) => [subjectName(view), view]))
  const kinds = new Map(graph.nodes.map(({ id, kind }) => [id, kind]))
  const groups = groupsOf(graph, byId)
  const nodes = ids.map((id) => ({
    ...describe(id, byId.get(id), problems.get(id), untold.has(id)),
    ports: ports.get(id) ?? [],
    kind: kinds.get(id) ?? ('off' as const),
    ...(byId.has(id) && { access: open.has(id) ? ('open' as const) : ('guarded' as const) }),
    ...(groups.has(id) && { group: groups.get(id) as string }),
  }))
  return place(nodes, edges)
}

const portsOf = (spec: KubernetesObject['spec']): number[] =>
  ((spec?.ports ?? []) as { port: number }[]).map(({ port }) => port)

const describe = (id: string, view: ApplicationView | undefined, problem: string | undefined, isUntold: boolean) => {
  const [namespace = '', application = ''] = id.split('/')
  const named = { id, namespace, application }
  if (problem !== undefined) return { ...named, status: 'unreadable' as const, message: problem, marks: [] }
  if (isUntold)
    return { ...named, status: 'untold' as const, message: 'It runs, and no event has come for it yet.', marks: [] }
  if (view === undefined)
    return { ...named, status: 'unknown' as const, message: 'meshstep has no memory of it', marks: [] }
  const { status, message } = view.status
  const waypoint = waypointOf(view)
  return { ...named, status, message, marks: marksOf(view), ...(waypoint !== undefined && { waypoint }) }
}

const marksOf = ({ config, labels, wanted, waiting, status }: ApplicationView): string[] => {
  const isHeld = Object.entries(wanted).every(([key, value]) => labels[key] === value)
  const marks: Record<string, boolean> = {
    hardened: config.mesh?.hardened === true,
    audit: (config.mesh?.enforcement ?? config.enforcement) === 'audit',
    waiting: waiting.length > 0 || status.status === 'waiting',
    conflict: !isHeld && waiting.length === 0 && status.status === 'active',
  }
  return Object.keys(marks).filter((mark) => marks[mark])
}

/** Interfaces of logs, metrics, traces and dashboards. */
const TELEMETRY = /loki|prometheus|tracing|grafana|otlp|remote_write|metrics|parca|profiling/

const edgesOf = async (
  { edges }: Graph,
  views: readonly ApplicationView[],
  open: ReadonlySet<string>,
  access: Asking,
): Promise<MapEdge[]> => {
  const related = edges.filter(({ from, to }) => from !== to)
  const pairs = Map.groupBy(related, ({ from, to }) => `${from} ${to}`)
  for (const { from, to } of grantedBy(views)) if (!pairs.has(`${from} ${to}`)) pairs.set(`${from} ${to}`, [])
  const known = new Set(views.map(subjectName))
  const drawn: MapEdge[] = []
  for (const [pair, relations] of pairs) {
    const [from = '', to = ''] = pair.split(' ')
    const passing = known.has(to) ? await access(subjectOf(from), subjectOf(to)).catch(nothingIfRefused) : []
    const allowed = passing.filter(({ after }) => after === 'allowed')
    if (allowed.length + relations.length > 0) drawn.push(edgeOf(from, to, relations, allowed, open.has(to)))
  }
  return drawn.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

const edgeOf = (
  from: string,
  to: string,
  relations: readonly Related[],
  allowed: readonly Access[],
  isOpen: boolean,
): MapEdge => ({
  ...{ id: `${from} → ${to}`, from, to },
  access: allowed.length === 0 ? 'none' : isOpen ? 'open' : 'allowed',
  isTelemetry: relations.some(({ interface: name }) => TELEMETRY.test(name)),
  label: labelOf(allowed),
  ...(allowed[0] && { sample: sampleOf(allowed[0]) }),
  relations: relations.map(({ id, label, interface: name }) => ({ id, label, interface: name })),
})

/** Treats a missing Service and workload as no access. */
const nothingIfRefused = (error: unknown): Access[] => {
  if (error instanceof Refused) return []
  throw error
}

const subjectOf = (id: string): Subject => {
  const [namespace = '', application = ''] = id.split('/')
  return { namespace, application }
}

/** Lists the pairs that policies name, whether or not they are related. An application is assumed to run as the account of its name. */
const grantedBy = (views: readonly ApplicationView[]): { from: string; to: string }[] => {
  const known = new Set(views.map(subjectName))
  return views.flatMap(({ policies }) =>
    policies.flatMap(({ namespace, action, target, sources }) => {
      const to = `${namespace}/${target.replace(/^Service /, '')}`
      return action === 'ALLOW' && known.has(to)
        ? sources.filter((from) => known.has(from) && from !== to).map((from) => ({ from, to }))
        : []
    }),
  )
}

/** Writes a line for each port, with the methods and paths that belong together. */
const labelOf = (allowed: readonly Access[]): string => {
  const rows = [
    ...Map.groupBy(allowed, (change) => `${hostOf(change)}:${change.port} ${methodOf(change)}`).values(),
  ].map((changes) => ({
    port: changes[0] ? `${hostOf(changes[0])}:${changes[0].port}` : '',
    method: changes[0] ? methodOf(changes[0]) : '',
    paths: [...new Set(changes.map(pathOf))].join(', '),
  }))
  return [...Map.groupBy(rows, ({ port, paths }) => `${port} ${paths}`).values()]
    .map((same) => [same[0]?.port, same.map(({ method }) => method).join(', '), same[0]?.paths])
    .map((parts) => parts.filter((part) => part !== undefined && part !== '').join(' '))
    .join('\n')
}

const hostOf = ({ host, notHosts = [] }: Access): string =>
  host ?? (notHosts.length > 0 ? `not ${notHosts.join(', ')}` : '')

const methodOf = ({ method, notMethods = [], carries }: Access): string =>
  method ?? carries?.toUpperCase() ?? (notMethods.length > 0 ? `not ${notMethods.join(', ')}` : '')

const pathOf = ({ path, notPaths = [] }: Access): string =>
  path ?? (notPaths.length > 0 ? `all but ${notPaths.join(', ')}` : '')

const sampleOf = ({ port, method, path }: Access) => ({
  port,
  ...(method !== undefined && { method }),
  ...(path !== undefined && { path: path.replaceAll(/\{?\*+\}?/g, '0') }),
})

/** Maps each application of a cluster to its coordinator. */
const groupsOf = ({ edges }: Graph, byId: ReadonlyMap<string, ApplicationView>): Map<string, string> =>
  new Map(
    edges.flatMap(({ from, to }) =>
      [
        [from, to],
        [to, from],
      ].flatMap(([coordinator = '', worker = '']) =>
        byId.get(coordinator)?.config.coordinator && byId.get(worker)?.config.worker
          ? [[coordinator, coordinator] as const, [worker, coordinator] as const]
          : [],
      ),
    ),
  )

type Unplaced = Omit<MapNode, 'x' | 'y' | 'width' | 'height' | 'caption'>

/** The limit of edges up to which they have labels. Labels take space in the layout. */
export const MOST_LABELS = 16

const place = (nodes: readonly Unplaced[], edges: readonly MapEdge[]) => {
  const described = nodes.map((node) => ({ ...node, caption: captionOf(node) }))
  const sized = described.map((node) => ({ ...node, ...nodeBox(node.application, node.caption) }))
  const lines = edges.map(({ from, to, label }) => ({
    ...{ from, to },
    ...(edges.length <= MOST_LABELS && label !== '' && { label: labelBox(label) }),
  }))
  return { ...layOut(sized, lines), edges }
}

const captionOf = ({ kind, access, marks, status }: Unplaced): string => {
  if (status === 'untold') return 'no event yet'
  if (status === 'unknown' || status === 'unreadable') return status
  const where = { beacon: 'runs the mesh', mesh: 'on mesh', off: 'off mesh' }[kind]
  const who = kind === 'beacon' || access === undefined ? [] : [access]
  const worse = status === 'active' || marks.includes(status) ? [] : [status]
  return [where, ...who, ...worse, ...marks].join(' · ')
}
