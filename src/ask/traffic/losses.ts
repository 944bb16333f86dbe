import { namespaceOf } from '../../platform/base/subject.ts'
import type { AccessChange } from '../preview/difference/describe-changes.ts'
import type { Flow } from './flows.ts'
import { isCovered, secondsIn, timeText } from './time.ts'
import type { TrafficView } from './traffic.ts'

/** The traffic of an access that is lost. */
type Use = {
  /** `unknown` if nothing tells: no proxies are scraped, or the target is not all on the mesh, so that nobody sees all traffic to it. */
  readonly is: 'used' | 'silent' | 'unknown'
  /** The requests of HTTP and connections of TCP that passed in the last `seconds`. */
  readonly requests: number
  readonly connections: number
  readonly seconds: number
  /** `12 requests/min in the last hour` */
  readonly text: string
}

/** A change of access. One that is lost, or may be, has its traffic. */
export type Judged = AccessChange & { readonly traffic?: Use }

/** The traffic to a namespace in the last hour and week. A week is asked for only if the hour does not tell all. */
export type Recent = { readonly hour?: TrafficView | undefined; readonly week?: TrafficView | undefined }

/** The windows of `Recent`. */
export const [HOUR, WEEK] = ['1h', '7d']

export const NO_PORT =
  'Istio’s metrics name no port, method or path: the traffic of a loss is all that passed from its client to its target.'

/** Tells if access is lost, or if that cannot be ruled out. */
export const mayBeLost = ({ before, after }: Pick<AccessChange, 'before' | 'after'>): boolean =>
  before !== 'denied' && after !== 'allowed'

/** Adds its traffic to each access that is lost or may be, and puts these first, the most used before the others. */
export const judgeLosses = (access: readonly AccessChange[], recent: ReadonlyMap<string, Recent>): Judged[] => {
  const [lost, others] = [access.filter(mayBeLost), access.filter((one) => !mayBeLost(one))]
  const judged = lost.map((one) => ({ ...one, traffic: useOf(one, recent.get(namespaceOf(one.to)) ?? {}) }))
  return [...judged.toSorted((one, other) => amountOf(other.traffic) - amountOf(one.traffic)), ...others]
}

/**
 * Names the clients that used a target of a loss, and of which the cluster cannot say what they may: they run in another cluster, or only at times. A plan
 * compares those that run now.
 */
export const notCompared = (access: readonly AccessChange[], recent: ReadonlyMap<string, Recent>): string[] => {
  const lost = access.filter(mayBeLost)
  const said = [...Map.groupBy(lost, ({ to, via }) => `${to} ${via}`).values()].flatMap(([one, ...others]) => {
    const { hour, week = hour } = recent.get(namespaceOf(one?.to ?? '')) ?? {}
    if (one === undefined || week === undefined) return []
    return flowsOf(one, week)
      .filter((flow) => flow.access === 'unknown' && flow.requests > flow.refused)
      .filter((flow) => ![one, ...others].some((other) => isOfClient(other, flow)))
      .map(({ from, to }) => `${from} → ${to}: ${usedBy(week)}`)
  })
  return [...new Set(said)]
}

const usedBy = (view: TrafficView): string =>
  `used in the last ${timeText(seenSeconds(view))}, and not compared, as the client does not run here now`

/** Orders uses: by what passes in a second, then what is not known, then what is silent. */
const amountOf = ({ is, requests, connections, seconds }: Use): number =>
  is === 'used' ? (requests + connections) / seconds : is === 'unknown' ? 0 : -1

/** Tells the use of an access by the hour, and by the week where nothing was seen in the hour. */
export const useOf = (lost: AccessChange, { hour, week }: Recent): Use => {
  const inHour = hour && passed(lost, hour)
  if (hour && inHour && inHour.total > 0)
    return { ...counted(inHour, hour), is: 'used', text: amountText(inHour, hour) }
  const inWeek = week && passed(lost, week)
  if (!week || !inWeek) return { ...NOTHING, is: 'unknown', text: hour ? 'not used in the last hour' : 'use not known' }
  const counts = counted(inWeek, week)
  if (inWeek.total > 0) return { ...counts, is: 'used', text: `${amountText(inWeek, week)}, not in the last hour` }
  if (!isSeen(lost, week) || inWeek.isBlurred || maySendUnknown(lost, week))
    return { ...counts, is: 'unknown', text: 'use not known' }
  return { ...counts, is: 'silent', text: `not used for ${timeText(counts.seconds)}` }
}

/** Tells if silence means something: proxies report all to the target, and hops are counted for the clients of a waypoint. */
const isSeen = ({ from, to }: AccessChange, { coveredSeconds, onMesh }: TrafficView): boolean =>
  coveredSeconds !== undefined && !from?.includes('/gateway/') && plainNames(to).some((one) => onMesh.includes(one))

/** Tells if something passed of which no proxy knows who sent it, and the client may have. A client on the mesh has an identity. */
const maySendUnknown = (lost: AccessChange, view: TrafficView): boolean => {
  const named = clientsOf(lost)
  return (
    named?.every((one) => view.onMesh.includes(one)) === false &&
    flowsOf(lost, view).some((flow) => flow.from === 'unknown' && flow.requests > flow.refused)
  )
}

type Passed = {
  readonly requests: number
  readonly connections: number
  readonly total: number
  /** Connections and refusals are extrapolated apart, so a few that passed may not be seen among those that were refused. */
  readonly isBlurred: boolean
}

const NOTHING = { requests: 0, connections: 0, seconds: 0 }

const flowsOf = (lost: AccessChange, { flows, samePods = [] }: TrafficView): TrafficView['flows'] => {
  const own = plainNames(lost.to)
  const same = samePods.filter((names) => names.some((one) => own.includes(one))).flat()
  return flows.filter((flow) => [...own, ...same].includes(flow.to) && isOfWay(lost, flow))
}

const passed = (lost: AccessChange, view: TrafficView): Passed => {
  const own = flowsOf(lost, view).filter((flow) => isOfClient(lost, flow))
  const sum = (protocol: Flow['protocol']) =>
    own.reduce((all, one) => (one.protocol === protocol ? all + one.requests - one.refused : all), 0)
  const [requests, connections] = [sum('http'), sum('tcp')]
  const isBlurred = own.some(({ protocol, refused }) => protocol === 'tcp' && refused > 0)
  return { requests, connections, total: requests + connections, isBlurred }
}

const counted = ({ requests, connections }: Passed, view: TrafficView) => ({
  ...{ requests, connections },
  seconds: seenSeconds(view),
})

/** Returns the time that a view is about. It is shorter than its window if proxies are scraped for a shorter time. */
const seenSeconds = ({ window, coveredSeconds }: TrafficView): number => {
  return coveredSeconds === undefined || isCovered(window, coveredSeconds) ? secondsIn(window) : coveredSeconds
}

const amountText = ({ requests, connections }: Passed, view: TrafficView): string => {
  const seconds = seenSeconds(view)
  const parts = [
    ...(requests > 0 ? [rateText(requests, 'request', seconds)] : []),
    ...(connections > 0 ? [rateText(connections, 'connection', seconds)] : []),
  ]
  return `${parts.join(' and ')} in the last ${timeText(seconds).replace(/^1 /, '')}`
}

/** Writes a rate if there is at least one in a minute. */
const rateText = (count: number, what: string, seconds: number): string => {
  const perMinute = count / (seconds / 60)
  if (perMinute < 1 || seconds < 120) return `${count} ${what}${count === 1 ? '' : 's'}`
  return `${perMinute < 10 ? Number(perMinute.toFixed(1)) : Math.round(perMinute)} ${what}s/min`
}

const isOfWay = ({ via }: AccessChange, { ways = [via] }: Flow): boolean => ways.includes(via)

/** Removes the kind of a name: proxies tell applications, pods and Gateways by the name of their workload alone. */
const plainNames = (name: string): string[] => {
  const plain = name.replace(/\/(gateway|pod)\//, '/')
  // the class of a Gateway is behind its name
  return name.includes('/gateway/') ? [plain, `${plain}-istio`] : [plain]
}

/** Undefined for clients outside the mesh. */
const clientsOf = ({ from, clients }: AccessChange): readonly string[] | undefined =>
  from === undefined ? clients : [from]

const isOfClient = (lost: AccessChange, flow: Flow): boolean => {
  const { notClients = [] } = lost
  const named = clientsOf(lost)
  if (named === undefined) return flow.accounts === undefined
  return named.some((one) => mayBe(one, flow)) && !notClients.some((one) => isClient(one, flow))
}

/** Tells if a flow may be of a client. Where only one of them names an account, it may be of any client of its namespace. */
const mayBe = (client: string, flow: Flow): boolean => {
  const isAccount = client.includes('/sa/')
  const isBlind = isAccount ? flow.accounts === undefined : flow.from.includes('/sa/')
  return isClient(client, flow) || (isBlind && namespaceOf(client) === namespaceOf(flow.from))
}

/** Names have no other signs that mean something in an expression. */
const globOf = (name: string): RegExp => new RegExp(`^${name.replaceAll('.', '[.]').replaceAll('*', '.*')}$`)

const isClient = (client: string, { from, accounts = [] }: Flow): boolean => {
  const patterns = plainNames(client).map(globOf)
  const names = [from, ...accounts.map((account) => account.replace('/', '/sa/'))]
  return names.some((name) => patterns.some((pattern) => pattern.test(name)))
}
