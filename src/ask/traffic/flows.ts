import { rounded, type Series } from './prometheus.ts'

export type Way = 'service' | 'pod'

/** Traffic of one client to one target in a window. */
export type Flow = {
  /** `namespace/application`, `namespace/sa/account` for a client that only its identity names, or `unknown`. */
  readonly from: string
  /** `namespace/application`, or `namespace/unknown`. */
  readonly to: string
  readonly protocol: 'http' | 'tcp'
  /** The clusters, where the proxies know them. */
  readonly fromCluster?: string
  readonly toCluster?: string
  /** The identities of the client, `namespace/account`, as proxies verified them. Absent where they saw none, as of a client outside the mesh. */
  readonly accounts?: readonly string[]
  /** Requests of HTTP, or connections of TCP, with those that were refused. Prometheus extrapolates, so a number is close and not exact. */
  readonly requests: number
  readonly refused: number
  /** The addresses that the client used: those of Services, of pods, or both. Absent where no proxy knows, as without one of the client or a waypoint. */
  readonly ways?: readonly Way[]
}

export type Observed = {
  readonly http: readonly Series[]
  readonly tcp: readonly Series[]
  /** The connections among `tcp` that a policy refused. */
  readonly denied: readonly Series[]
  /** The part of the window since which proxies are scraped. Absent where Prometheus knows none. */
  readonly coveredSeconds?: number | undefined
  /** The requests that dry runs would have refused. Absent where Prometheus has no such counters. */
  readonly dryRuns?: readonly Series[] | undefined
}

type Known = {
  readonly namespace: string
  /** The names of applications, `namespace/application`. */
  readonly applications: ReadonlySet<string>
  /** The waypoints, `namespace/name`. */
  readonly waypoints: ReadonlySet<string>
}

/**
 * Reads the flows to a namespace. Several proxies report the same traffic: the report of the destination or the waypoint counts, and the client's only where
 * there is none. The connections to a waypoint and from it are left out and counted in `hops`, as the waypoint reports what it passes on. One with refused
 * connections stays.
 */
export const readFlows = (
  observed: Pick<Observed, 'http' | 'tcp' | 'denied'>,
  known: Known,
): { readonly flows: Flow[]; readonly hops: number } => {
  const reports = [
    ...observed.http.map(({ labels, value }) => {
      const refused = labels.response_code === '403' ? value : 0
      return reportOf(labels, { protocol: 'http', requests: value, refused }, known)
    }),
    ...observed.tcp.map(({ labels, value }) =>
      reportOf(labels, { protocol: 'tcp', requests: value, refused: 0 }, known),
    ),
    ...observed.denied.map(({ labels, value }) =>
      reportOf(labels, { protocol: 'tcp', requests: 0, refused: value }, known),
    ),
  ].filter(({ to }) => to.startsWith(`${known.namespace}/`))
  const pairs = Map.groupBy(reports, ({ protocol, from, to }) => `${protocol} ${from} ${to}`)
  const counted = [...pairs.values()].flatMap((ofPair) => {
    const near = ofPair.filter(({ isOfClient }) => !isOfClient)
    const all = [...near, ...ofPair.filter((one) => one.isOfClient && !near.some((other) => isSame(one, other)))]
    const ways = waysIn(ofPair)
    return ways === undefined ? all : all.map((one) => ({ ...one, ways }))
  })
  const summed = [
    ...Map.groupBy(counted, ({ protocol, from, to, fromCluster = '', toCluster = '' }) =>
      [protocol, from, to, fromCluster, toCluster].join(' '),
    ).values(),
  ].flatMap(sum)
  const isHop = ({ from, to, protocol, refused }: Flow) =>
    refused === 0 && (known.waypoints.has(from) || (protocol === 'tcp' && known.waypoints.has(to)))
  const hops = summed.filter(isHop).reduce((all, { requests }) => all + requests, 0)
  return { flows: summed.filter((flow) => flow.requests > 0 && !isHop(flow)), hops }
}

type Labels = Series['labels']
type Report = Omit<Flow, 'accounts'> & {
  readonly isOfClient: boolean
  readonly way: Way | undefined
  readonly account: string | undefined
}

/** The proxies of a client know of all that it sends, since it is on the mesh. Both sides extrapolate, so their numbers differ a little. */
const waysIn = (ofPair: readonly Report[]): Way[] | undefined => {
  const ways = ofPair.flatMap(({ way }) => way ?? [])
  const sum = (isOfClient: boolean) =>
    ofPair.reduce((all, one) => (one.isOfClient === isOfClient ? all + one.requests : all), 0)
  const isOfAll = ofPair.some(({ isOfClient }) => isOfClient) && sum(true) >= 0.9 * sum(false)
  const isWhole = isOfAll || ways.length === ofPair.length
  return isWhole ? [...new Set(ways)].toSorted() : undefined
}

const reportOf = (labels: Labels, count: Pick<Flow, 'protocol' | 'requests' | 'refused'>, known: Known): Report => {
  const said = (name: string) => saidIn(labels, name, CLUSTER)
  const [fromCluster, toCluster] = [said('source_cluster'), said('destination_cluster')]
  return {
    from: clientOf(labels, known),
    to: targetOf(labels, known),
    ...count,
    ...(fromCluster !== undefined && { fromCluster }),
    ...(toCluster !== undefined && { toCluster }),
    isOfClient: labels.reporter === 'source',
    account: accountIn(labels),
    way: wayIn(labels),
  }
}

/** The proxy of a destination guesses a Service by the port, so that it does not know. */
const wayIn = (labels: Labels): Way | undefined => {
  if (labels.reporter !== 'source' && labels.reporter !== 'waypoint') return undefined
  return saidIn(labels, 'destination_service', /^/) === undefined ? 'pod' : 'service'
}

/** Clients choose what a proxy says of a peer or of a host. What is no name would pretend to be lines, or other names, where it is shown. */
const NAME = /^[-\w.:]{1,260}$/

/** Providers name clusters by paths as well. */
const CLUSTER = /^[-\w.:/]{1,260}$/

/** Returns a label's value, or undefined where a proxy does not know it, or it is no name. */
const saidIn = (labels: Labels, name: string, pattern = NAME): string | undefined => {
  const value = labels[name]
  return value === undefined || value === '' || value === 'unknown' || !pattern.test(value) ? undefined : value
}

const clientOf = (labels: Labels, { applications }: Known): string => {
  const namespace = saidIn(labels, 'source_workload_namespace')
  const name = saidIn(labels, 'source_workload') ?? saidIn(labels, 'source_canonical_service')
  const account = accountIn(labels)
  // a client may say of itself that it is another one, but its identity is verified
  const isOwn = account === undefined || account.startsWith(`${namespace}/`)
  if (namespace !== undefined && name !== undefined && isOwn) return `${namespace}/${name}`
  if (account === undefined) return 'unknown'
  return applications.has(account) ? account : account.replace('/', '/sa/')
}

const accountIn = ({ source_principal: principal = '' }: Labels): string | undefined => {
  const [, namespace, account] = /\/ns\/([-a-z0-9]{1,63})\/sa\/([-a-z0-9.]{1,253})$/.exec(principal) ?? []
  return namespace === undefined ? undefined : `${namespace}/${account}`
}

/** Names the target as its Service, unless only its workload is an application. */
const targetOf = (labels: Labels, { namespace, applications, waypoints }: Known): string => {
  const home = saidIn(labels, 'destination_workload_namespace')
  const workload = saidIn(labels, 'destination_workload')
  const ran = home !== undefined && workload !== undefined ? `${home}/${workload}` : undefined
  // a client that a waypoint serves has the waypoint as its peer, and says the Service that it means
  if (ran !== undefined && waypoints.has(ran)) return ran
  const names = [serviceOf(labels, namespace), ran].filter((one) => one !== undefined)
  return names.find((one) => applications.has(one)) ?? names[0] ?? `${home ?? namespace}/unknown`
}

const serviceOf = (labels: Labels, namespace: string): string | undefined => {
  const host = (saidIn(labels, 'destination_service') ?? '').replace(/:\d+$/, '')
  const [, name, home, domain] = /^([^.]+)\.([^.]+)(\.svc(?:\..+)?)?$/.exec(host) ?? []
  if (name !== undefined && (domain !== undefined || home === namespace)) return `${home}/${name}`
  const short = saidIn(labels, 'destination_service_name')?.replace(/:\d+$/, '')
  const said = saidIn(labels, 'destination_service_namespace')
  return said !== undefined && short !== undefined && /^[-a-z0-9]+$/.test(short) ? `${said}/${short}` : undefined
}

/** Tells if two reports may be of the same traffic: no cluster tells them apart. */
const isSame = (one: Report, other: Report): boolean =>
  isAlike(one.fromCluster, other.fromCluster) && isAlike(one.toCluster, other.toCluster)

const isAlike = (one: string | undefined, other: string | undefined): boolean =>
  one === undefined || other === undefined || one === other

const sum = (reports: readonly Report[]): Flow[] => {
  const [first] = reports
  if (first === undefined) return []
  const { isOfClient: _, way: __, account: ___, ...flow } = first
  const accounts = [...new Set(reports.flatMap(({ account }) => account ?? []))].toSorted()
  const total = (key: 'requests' | 'refused') => rounded(reports.reduce((all, one) => all + one[key], 0))
  const refused = total('refused')
  const counts = { requests: Math.max(total('requests'), refused), refused }
  return [{ ...flow, ...counts, ...(accounts.length > 0 && { accounts }) }]
}
