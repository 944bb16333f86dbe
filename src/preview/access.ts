import { hasLabels } from '../authorization/evaluate/cluster-snapshot.ts'
import { evaluate } from '../authorization/evaluate.ts'
import { buildInput, type EvaluationInput } from '../authorization/input.ts'
import { asTaken, type ObservedCluster, observeForQuery } from '../authorization/observe.ts'
import { allPods, podLabels } from '../authorization/pods.ts'
import type { Query } from '../authorization/query.ts'
import { Refused } from '../base/errors.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { AuthorizationPolicy } from '../istio/authorization-policy.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'
import { NAME_LABEL } from '../kubernetes/services.ts'
import type { Memories } from '../state/memory.ts'
import { portsIn, type Witness, witnessesOf } from './witnesses.ts'

export type Verdict = 'allowed' | 'denied' | 'undecided'

/** A request whose answer changes. What is absent is any. */
export type AccessChange = {
  /** `namespace/application`; absent for a client outside the mesh. */
  readonly from?: string
  readonly to: string
  /** To the pods' own addresses, past the Service. */
  readonly via: 'service' | 'pod'
  readonly host?: string
  readonly port: number
  readonly method?: string
  readonly path?: string
  /** Any but these, which policies name. */
  readonly notHosts?: readonly string[]
  readonly notMethods?: readonly string[]
  readonly notPaths?: readonly string[]
  readonly before: Verdict
  readonly after: Verdict
  /** `- reviews → details GET :9080 /details/*` */
  readonly line: string
}

type Side = {
  readonly memories: Pick<Memories, 'read'>
  readonly kubernetes: Kubernetes
  readonly question: Partial<Pick<Query, 'autoAllowWaypoint'>>
  /** Requests that pass only because no policy exists count as denied. */
  readonly isByPolicy?: boolean
}

/** A client of which nothing is known but that it is outside of the mesh: an address for documentation. */
const OUTSIDE = '203.0.113.1'

/**
 * Compares the access from `from` to `to`, for every port, method and path that policies of either side distinguish. `from` is absent for a
 * client outside the mesh.
 */
export const accessChanges = async (
  from: Subject | undefined,
  to: Subject,
  sides: { readonly before: Side; readonly after: Side },
): Promise<AccessChange[]> => {
  const pair = { ...(from ? { from } : { address: OUTSIDE }), to }
  const [before, after] = await Promise.all(
    [sides.before, sides.after].map(async ({ memories, kubernetes, question, isByPolicy = false }) => ({
      isByPolicy,
      question: { ...question, ...pair },
      observed: asTaken(await observeForQuery(memories, kubernetes, { ...pair, port: 1, via: 'service' })),
    })),
  )
  if (before === undefined || after === undefined) return []
  const ports = [before, after].map((side) => portsOf(side.observed, to))
  return (['service', 'pod'] as const).flatMap((via) => {
    const asked = [...new Set(ports.flatMap((one) => one[via]))].toSorted((one, other) => one - other)
    return asked.flatMap((port) =>
      compared([situation(before, via, port), situation(after, via, port)], { from, to, via, port }, before.isByPolicy),
    )
  })
}

/** The access through a Service that there is now, as changes from none: what policies say, and what is open as none says anything. */
export const accessNow = async (
  from: Subject | undefined,
  to: Subject,
  { memories, kubernetes }: Pick<Side, 'memories' | 'kubernetes'>,
): Promise<AccessChange[]> => {
  // without a client it is asked what stock Istio does: what nobody has a word about counts as open
  const pair = { ...(from ? { from } : { address: OUTSIDE, autoAllowWaypoint: false }), to }
  const observed = await observeForQuery(memories, kubernetes, { ...pair, port: 1, via: 'service' })
  const side = { question: pair, observed: { ...observed, policies: policiesAbout(to, observed) } }
  return portsOf(observed, to).service.flatMap((port) =>
    compared([undefined, situation(side, 'service', port)], { from, to, via: 'service', port }, false),
  )
}

/** Policies that may hold for an application: not those of other Services, or of pods that another name of an application labels. */
const policiesAbout = ({ application }: Subject, { policies = [], to }: ObservedCluster): KubernetesObject[] => {
  const names = to ? allPods(to).flatMap((pod) => podLabels(pod)[NAME_LABEL] ?? []) : []
  return (policies as AuthorizationPolicy[]).filter(({ spec: { targetRefs = [], selector } = {} }) => {
    const isOfOthers =
      targetRefs.length > 0 && targetRefs.every(({ kind, name }) => kind === 'Service' && name !== application)
    const name = selector?.matchLabels?.[NAME_LABEL]
    return !isOfOthers && (name === undefined || names.length === 0 || names.includes(name))
  })
}

type Observation = {
  readonly question: Omit<Query, 'port' | 'via'>
  readonly observed: ObservedCluster
  readonly isByPolicy: boolean
}

/** Undefined where there is nothing to be asked. */
const situation = (
  { question, observed }: Pick<Observation, 'question' | 'observed'>,
  via: 'service' | 'pod',
  port: number,
): EvaluationInput | undefined => {
  try {
    return buildInput({ ...question, via, port }, observed)
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

const portsOf = ({ services, to, policies = [] }: ObservedCluster, { application }: Subject) => {
  const service = services.find(({ metadata }) => metadata.name === application)
  const containers = (to ? allPods(to) : []).flatMap(({ spec }) => spec?.containers ?? [])
  const targets = (service?.spec?.ports ?? []) as { port: number; targetPort?: number | string }[]
  const numbers = targets.flatMap(({ port, targetPort = port }) => (typeof targetPort === 'number' ? [targetPort] : []))
  return {
    service: targets.map(({ port }) => port),
    pod: [
      ...containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
      ...numbers,
      ...podPorts(policies),
    ],
  }
}

const podPorts = (policies: readonly KubernetesObject[]): number[] =>
  portsIn(
    (policies as AuthorizationPolicy[]).filter(
      ({ spec }) => spec?.targetRefs === undefined && spec?.targetRef === undefined,
    ),
  )

type Asked = { from: Subject | undefined; to: Subject; via: 'service' | 'pod'; port: number; host?: Asking | undefined }

type Asking = Witness<string | undefined>

type Cell = {
  readonly method: Asking
  readonly path: Asking
  readonly before: Verdict
  readonly after: Verdict
}

const compared = ([before, after]: Pair, asked: Asked, isByPolicy: boolean): AccessChange[] => {
  const isSame = before && after ? fingerprint(before) === fingerprint(after) : before === after
  if (isSame) return []
  const { hosts, methods, paths } = witnessesOf(
    [before, after].flatMap((side) => side?.snapshot.policies.filter(holdsIn(side)) ?? []),
  )
  const cells = (host: Asking): Cell[] =>
    methods.flatMap((method) =>
      paths.map((path) => {
        const request = { host: host.value, method: method.value, path: path.value }
        return {
          method,
          path,
          before: verdict(before, request, isByPolicy),
          after: verdict(after, request, isByPolicy),
        }
      }),
    )
  const byHost = hosts.map((host) => ({ host, cells: cells(host) }))
  const isSameForAll = new Set(byHost.map((one) => JSON.stringify(one.cells))).size === 1
  return isSameForAll
    ? merged(byHost[0]?.cells ?? [], asked)
    : byHost.flatMap((one) => merged(one.cells, { ...asked, host: one.host }))
}

type Pair = readonly [EvaluationInput | undefined, EvaluationInput | undefined]

const verdict = (
  side: EvaluationInput | undefined,
  request: Pick<EvaluationInput['request'], 'host' | 'method' | 'path'>,
  isByPolicy: boolean,
): Verdict => {
  if (side === undefined) return 'denied'
  const { allowed, decided, policy } = evaluate({ ...side.request, ...request }, side.snapshot)
  if (allowed) return isByPolicy && policy === undefined ? 'denied' : 'allowed'
  return decided ? 'denied' : 'undecided'
}

/** All that a decision may depend on. */
const fingerprint = (side: EvaluationInput): string =>
  JSON.stringify([
    side.request,
    {
      ...side.snapshot,
      policies: side.snapshot.policies
        .filter(holdsIn(side))
        .map(({ metadata: { namespace, name, annotations }, spec }) => [namespace, name, annotations, spec]),
    },
  ])

/** False for policies that refer to Services alone, none of them the one that is asked for, or that select other pods. */
const holdsIn =
  ({ request, snapshot }: EvaluationInput) =>
  ({ spec: { targetRefs = [], selector } }: AuthorizationPolicy): boolean => {
    const isElsewhere =
      targetRefs.length > 0 && targetRefs.every(({ kind, name }) => kind === 'Service' && name !== request.to.service)
    const workloads = [snapshot, ...(snapshot.others ?? [])].flatMap((one) => one.workloads)
    const pods = [...workloads.map(({ labels }) => labels), request.to.gateway?.labels ?? {}]
    return !isElsewhere && pods.some((labels) => hasLabels(labels, selector?.matchLabels))
  }

/** As few lines as say it: of all methods and paths, of all methods of a path, of all paths of a method, or of both. */
const merged = (cells: readonly Cell[], asked: Asked): AccessChange[] => {
  const changed = cells.filter(({ before, after }) => before !== after)
  const [first] = changed
  if (first === undefined) return []
  const isSame = (some: readonly Cell[]) =>
    some.every(({ before, after }) => before === some[0]?.before && after === some[0]?.after)
  if (changed.length === cells.length && isSame(cells)) return [change(asked, first)]
  const whole = (by: 'method' | 'path') =>
    [...new Set(cells.map((cell) => cell[by]))].filter((witness) => {
      const row = cells.filter((cell) => cell[by] === witness)
      return row.every((cell) => cell.before !== cell.after) && isSame(row)
    })
  const paths = whole('path')
  const methods = paths.length > 0 ? [] : whole('method')
  const isCovered = (cell: Cell) => paths.includes(cell.path) || methods.includes(cell.method)
  const rows = [...paths.map((path) => ({ path })), ...methods.map((method) => ({ method }))]
  return [
    ...rows.flatMap((row) => {
      const cell = cells.find((one) => ('path' in row ? one.path === row.path : one.method === row.method))
      return cell ? [change(asked, cell, row)] : []
    }),
    ...changed.filter((cell) => !isCovered(cell)).map((cell) => change(asked, cell, cell)),
  ]
}

const change = (
  { from, to, via, port, host }: Asked,
  { before, after }: Cell,
  { method, path }: Partial<Pick<Cell, 'method' | 'path'>> = {},
): AccessChange => {
  const [ofHost, ofMethod, ofPath] = [labelOf(host), labelOf(method), labelOf(path)]
  const named = {
    ...(ofHost.label !== undefined && { host: ofHost.label }),
    ...(ofHost.not.length > 0 && { notHosts: ofHost.not }),
    ...(ofMethod.label !== undefined && { method: ofMethod.label }),
    ...(ofMethod.not.length > 0 && { notMethods: ofMethod.not }),
    ...(ofPath.label !== undefined && { path: ofPath.label }),
    ...(ofPath.not.length > 0 && { notPaths: ofPath.not }),
  }
  const target = `${to.application}${via === 'pod' ? ' (pods)' : ''}`
  const sign = signOf(before, after)
  const odd = sign === '?' ? `(${before} → ${after})` : undefined
  const words = [
    sign,
    clientOf(from, to),
    '→',
    target,
    textOf(ofMethod),
    `${textOf(ofHost) ?? ''}:${port}`,
    textOf(ofPath),
    odd,
  ]
  return {
    ...(from && { from: subjectName(from) }),
    to: subjectName(to),
    ...{ via, port, ...named, before, after },
    line: words.filter((word) => word !== undefined).join(' '),
  }
}

const labelOf = (witness: Asking | undefined): { label?: string; not: readonly string[] } => {
  if (witness === undefined) return { not: [] }
  return 'label' in witness ? { label: witness.label, not: [] } : { not: witness.not }
}

const textOf = ({ label, not }: ReturnType<typeof labelOf>): string | undefined =>
  label ?? (not.length > 0 ? `(not ${not.join(', ')})` : undefined)

const signOf = (before: Verdict, after: Verdict): string => {
  if (after === 'allowed') return '+'
  return before === 'allowed' && after === 'denied' ? '-' : '?'
}

const clientOf = (from: Subject | undefined, to: Subject): string => {
  if (from === undefined) return '(outside the mesh)'
  return from.namespace === to.namespace ? from.application : subjectName(from)
}

/** The applications among objects: a workload of a namespace, or a Service that is named like none. */
export const applicationsIn = (objects: readonly KubernetesObject[], namespaces: ReadonlySet<string>): Subject[] => {
  const found = objects.flatMap(({ kind, metadata: { namespace, name, ownerReferences = [] } }) =>
    ['StatefulSet', 'Deployment', 'Service'].includes(kind) &&
    namespace !== undefined &&
    namespaces.has(namespace) &&
    !(ownerReferences as { kind: string }[]).some((owner) => owner.kind === 'Gateway')
      ? [{ namespace, application: name }]
      : [],
  )
  const byName = new Map(
    found.map((one) => [nameOf({ kind: '', namespace: one.namespace, name: one.application }), one]),
  )
  return [...byName.values()].toSorted((one, other) => (subjectName(one) < subjectName(other) ? -1 : 1))
}
