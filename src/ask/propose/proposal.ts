import { subjectName, subjectNamed } from '../../platform/base/subject.ts'
import { isCovered, secondsIn, timeText } from '../traffic/time.ts'
import type { TrafficView } from '../traffic/traffic.ts'
import { type Beacon, findBeacon, knowsAccount } from './beacon.ts'
import type { Application, ProposedCluster } from './cluster.ts'
import type { ProposedDocument } from './document-writer.ts'
import { type Judged, judgeAll } from './judge.ts'
import { mustJoin } from './relations.ts'
import { addUp, evidence } from './seen.ts'
import { draftTarget, reasonToLeave } from './target-draft.ts'
import { writeDocuments } from './write-documents.ts'

/** A client or an application that a person has to look at. */
type Listed = {
  /** `suspicious`: the client is kept out. `left`: the application is left as it is, and so open if it was. */
  readonly kind: 'suspicious' | 'left'
  readonly from?: string
  readonly to: string
  readonly sentence: string
}

export type Proposed = {
  readonly namespace: string
  readonly window: string
  readonly documents: readonly ProposedDocument[]
  readonly listed: readonly Listed[]
  readonly notes: readonly string[]
}

export type Wanted = {
  /** The targets, by name. @default all applications of the namespace */
  readonly applications?: readonly string[] | undefined
  /** The policies are dry runs. */
  readonly isAudit?: boolean | undefined
}

/**
 * Proposes documents with which all traffic that was seen stays allowed, and other traffic is refused. Clients that look like an attack are listed and kept
 * out. Applications with a client that no relation can name are listed and left.
 */
export const propose = (
  { window, flows, coveredSeconds }: Pick<TrafficView, 'window' | 'flows' | 'coveredSeconds'>,
  cluster: ProposedCluster,
  { applications, isAudit = false }: Wanted = {},
): Proposed => {
  const { namespace } = cluster
  // where nothing is counted, silence says nothing
  if (flows.length === 0 && coveredSeconds === undefined)
    return { namespace, window, documents: [], listed: [], notes: [NOT_SCRAPED] }
  const beacon = findBeacon(cluster)
  const seen = addUp(flows, (target) => applicationBehind(target, cluster))
  const { hasWaypoint } = beacon
  const isAccountNamed = (client: Application) => beacon.isOurs || knowsAccount(beacon, client)
  const judged = judgeAll(seen, { cluster, hasWaypoint, isAccountNamed })
  const touched = new Set(seen.map(({ to }) => to))
  const judgedTargets = targetsOf(cluster, touched, applications).map((target): Target => {
    const own = judged.filter((one) => one.seen.to === subjectName(target.subject))
    return { target, judged: own, reason: reasonToLeave(target, own) }
  })
  const targets = withoutClosed(judgedTargets, cluster, beacon)
  const drafts = targets
    .filter(({ reason }) => reason === undefined)
    .map((one) => draftTarget(one.target, one.judged, hasWaypoint))
  const documents = writeDocuments(drafts, { cluster, beacon, window, isAudit })
  return {
    ...{ namespace, window, documents },
    listed: targets.flatMap((one) => listedOf(one, window)),
    notes: [...coverage(window, coveredSeconds), ...(documents.length > 0 ? beacon.notes : [])],
  }
}

const NOT_SCRAPED =
  'Prometheus knows no proxy of Istio (it has no istio_build of one, and no counter of traffic), so nothing is proposed: does it scrape the mesh?'

const coverage = (window: string, coveredSeconds = secondsIn(window)): string[] =>
  isCovered(window, coveredSeconds)
    ? []
    : [`Prometheus has scraped proxies for ${timeText(coveredSeconds)} only: clients that came before are not known.`]

type Target = {
  readonly target: Application
  readonly judged: readonly Judged[]
  /** The reason why it is left as it is. */
  readonly reason: string | undefined
}

/** Leaves also the targets whose client would have to join the mesh, and would refuse its own clients there, as it is left itself. */
const withoutClosed = (targets: readonly Target[], cluster: ProposedCluster, beacon: Beacon): readonly Target[] => {
  const kept = new Set(targets.flatMap(({ target, reason }) => (reason === undefined ? [target] : [])))
  const isClosed = (client: Application): boolean =>
    mustJoin(client, cluster.namespace) && !kept.has(client) && beacon.closes(client)
  const next = targets.map((one): Target => {
    if (one.reason !== undefined) return one
    const clients = one.judged.filter(({ verdict }) => verdict === 'granted' || verdict === 'stands')
    const closed = clients.find(({ seen }) => [cluster.applications.get(seen.from) ?? []].flat().some(isClosed))
    return closed
      ? {
          ...one,
          reason: `its client ${closed.seen.from} would have to join the mesh, and refuse its own clients there`,
        }
      : one
  })
  return next.every(({ reason }, index) => reason === targets[index]?.reason)
    ? targets
    : withoutClosed(next, cluster, beacon)
}

/** Names the application behind a target, which may be one of its Services. */
const applicationBehind = (target: string, { namespace, applications }: ProposedCluster): string => {
  if (applications.get(target)?.workload !== undefined) return target
  const owner = [...applications.values()].find(
    ({ subject, services }) =>
      subject.namespace === namespace && services.some(({ metadata }) => `${namespace}/${metadata.name}` === target),
  )
  return owner ? subjectName(owner.subject) : target
}

/** Lists what runs in the namespace, but for proxies of Gateways, and what was touched there and does not run. */
const targetsOf = (
  { namespace, applications }: ProposedCluster,
  touched: ReadonlySet<string>,
  names: readonly string[] | undefined,
): Application[] => {
  const known = [...applications.values()].filter(
    ({ subject, workload }) =>
      subject.namespace === namespace && (workload ? !workload.isGateway : touched.has(subjectName(subject))),
  )
  const others = [...touched].filter((name) => !applications.has(name))
  const all = [...known, ...others.map((name) => ({ subject: subjectNamed(name), services: [] }))]
  return all
    .filter(({ subject }) => names === undefined || names.includes(subject.application))
    .toSorted((one, other) => (one.subject.application < other.subject.application ? -1 : 1))
}

const listedOf = ({ target, judged, reason }: Target, window: string): Listed[] => {
  const to = subjectName(target.subject)
  const clients = judged.flatMap(({ seen, verdict, reason: why }): Listed[] => {
    const sentence = `${seen.from} → ${to}: ${why} (${evidence(seen, window)})`
    return verdict === 'suspicious' ? [{ kind: 'suspicious', from: seen.from, to, sentence }] : []
  })
  return reason === undefined ? clients : [...clients, { kind: 'left', to, sentence: `${to}: ${reason}` }]
}
