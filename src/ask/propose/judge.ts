import type { Application, ProposedCluster } from './cluster.ts'
import type { Seen } from './seen.ts'
import { beaconsOf, declaredTypes, declaresClients, type PolicyType } from './standing.ts'

/**
 * The verdict on a client of an application. `stands`: it is let in by what was declared. `granted`: the proposal lets it in. `suspicious`: it looks
 * like an attack, a probe or a scan, and is kept out until a person decides. `unnameable`: no relation can name it, and its target is left as it is.
 */
type Verdict = 'stands' | 'granted' | 'suspicious' | 'unnameable'

export type Judged = {
  readonly seen: Seen
  readonly verdict: Verdict
  /** The types of policies that are needed for what was seen, and that nothing declares. */
  readonly lacks: readonly PolicyType[]
  /** The reason why a person has to look at it. */
  readonly reason?: string
}

/** A client is taken for a scanner if it touched this number of applications, and sent none of them more than this number of requests. */
const SCAN = { targets: 5, requests: 10 } as const

type Facts = {
  readonly seen: Seen
  readonly target: Application
  /** The application of the client's name. */
  readonly client: Application | undefined
  /** The client is in the namespace of the target. */
  readonly isNear: boolean
  readonly isScanning: boolean
  /** A beacon names the account of the client, or can. */
  readonly isAccountNamed: boolean
  readonly hasWaypoint: boolean
  /** The types of policies that are needed for what was seen, and that nothing declares. */
  readonly lacks: readonly PolicyType[]
}

type Rule = readonly ['suspicious' | 'unnameable', (facts: Facts) => string | false]

/** The first rule that holds decides. docs/how-to/adopt-a-namespace.md has a sentence for each. */
const RULES: readonly Rule[] = [
  ['suspicious', ({ seen }) => seen.from === 'unknown' && 'no proxy knows who it is'],
  ['suspicious', ({ seen: { http, tcp, refused } }) => refused >= http + tcp && 'it was refused each time'],
  ['suspicious', (facts) => isRefusedNow(facts) && 'what is declared refuses it now'],
  [
    'suspicious',
    ({ isScanning }) =>
      isScanning && `it touched ${SCAN.targets} applications or more, each with ${SCAN.requests} requests at most`,
  ],
  [
    'suspicious',
    ({ isNear, client }) =>
      !isNear &&
      client?.state === undefined &&
      'it is in another namespace, and meshstep knows no application of its name there',
  ],
  [
    'suspicious',
    ({ isNear, client }) => !isNear && !hasIdentity(client) && 'it is outside the mesh, in another namespace',
  ],
  ['suspicious', ({ seen, client }) => pretending(seen, client)],
  ['unnameable', ({ client }) => client?.workload === undefined && 'it is neither a StatefulSet nor a Deployment'],
  ['unnameable', ({ client }) => client?.workload?.hasSidecar === true && 'it has a sidecar, or may have one'],
  ['unnameable', ({ client }) => sharing(client)],
  [
    'unnameable',
    ({ target, seen, lacks }) =>
      target.isRelated === true &&
      (lacks.includes(seen.from === seen.to ? 'app' : 'unit') ||
        (lacks.includes('app') && target.services.length > 1)) &&
      'policies: related has no relation for the way that it goes, or may go',
  ],
  [
    'unnameable',
    ({ client, isAccountNamed }) =>
      !isAccountNamed && `it runs as the ServiceAccount ${client?.workload?.account}, and the beacon does not say so`,
  ],
]

const UNNAMEABLE = RULES.filter(([verdict]) => verdict === 'unnameable')

/** Judges a client of an application. */
const judge = (seen: Seen, known: Omit<Facts, 'seen' | 'lacks'>): Judged => {
  const { target } = known
  const declared = declaredTypes(target, seen.from)
  const lacks = neededTypes(seen, known).filter((type) => !declared.includes(type))
  const isGuarded = beaconsOf(target).length > 0 && seen.access !== 'open'
  const isRespected = declared.length > 0 && (lacks.length === 0 || isGuarded)
  if (isRespected || (declaresClients(target) && seen.access === 'allowed')) {
    // what is declared takes effect when the target joins
    const reason = beaconsOf(target).length === 0 ? found(UNNAMEABLE, { ...known, seen, lacks: [] })?.reason : undefined
    return { seen, lacks: [], ...(reason === undefined ? { verdict: 'stands' } : { verdict: 'unnameable', reason }) }
  }
  return { seen, lacks, ...(found(RULES, { ...known, seen, lacks }) ?? { verdict: 'granted' }) }
}

/** Returns the verdict of the first rule that holds. */
const found = (rules: readonly Rule[], facts: Facts): Pick<Judged, 'verdict' | 'reason'> | undefined => {
  for (const [verdict, holds] of rules) {
    const reason = holds(facts)
    if (reason !== false) return { verdict, reason }
  }
  return undefined
}

/** A Gateway sends requests past the waypoint. Without a waypoint or a Service, the pods are what is guarded. */
const neededTypes = (
  seen: Seen,
  { target, client, hasWaypoint }: Pick<Facts, 'target' | 'client' | 'hasWaypoint'>,
): PolicyType[] =>
  !hasWaypoint || target.services.length === 0 || client?.workload?.isGateway === true
    ? ['unit']
    : [...(seen.isToService ? ['app' as const] : []), ...(seen.isToPods ? ['unit' as const] : [])]

/** The answer on access is about the Service of the target's name. Without one, nothing passes there whatever policies say. */
const isRefusedNow = ({ seen, target }: Facts): boolean =>
  seen.access === 'none' && target.services.some(({ metadata }) => metadata.name === target.subject.application)

const hasIdentity = (client: Application | undefined): boolean =>
  client?.workload !== undefined && (client.workload.isOnMesh || client.workload.isGateway)

/** The maker of a pod chooses the name of its workload, and not as whom it runs. */
const pretending = ({ accounts }: Seen, client: Application | undefined): string | false => {
  if (client?.workload === undefined) return false
  const own = `${client.subject.namespace}/${client.workload.account}`
  const others = accounts.filter((account) => account !== own)
  return (
    others.length > 0 && `some of it came as the ServiceAccount ${others.slice(0, 3).join(', ')}, and not as ${own}`
  )
}

const sharing = (client: Application | undefined): string | false => {
  const { account, sharedWith = [] } = client?.workload ?? {}
  return (
    sharedWith.length > 0 && `it runs as the ServiceAccount ${account}, as ${sharedWith.slice(0, 3).join(', ')} does`
  )
}

type Context = {
  readonly cluster: ProposedCluster
  readonly hasWaypoint: boolean
  isAccountNamed(client: Application): boolean
}

/** Judges each client of each application. */
export const judgeAll = (all: readonly Seen[], { cluster, hasWaypoint, isAccountNamed }: Context): Judged[] => {
  const { namespace, applications } = cluster
  const scanning = new Set(
    [...Map.groupBy(all, ({ from }) => from)]
      .filter(([, seen]) => seen.length >= SCAN.targets && seen.every(({ http, tcp }) => http + tcp <= SCAN.requests))
      .map(([from]) => from),
  )
  return all.flatMap((seen) => {
    const [target, client] = [applications.get(seen.to), applications.get(seen.from)]
    return target === undefined
      ? []
      : [
          judge(seen, {
            ...{ target, client, hasWaypoint, isScanning: scanning.has(seen.from) },
            isNear: seen.from.startsWith(`${namespace}/`),
            isAccountNamed: client !== undefined && isAccountNamed(client),
          }),
        ]
  })
}
