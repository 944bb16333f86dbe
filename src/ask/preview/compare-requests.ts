import { type AuthorizationPolicy, targetsOf } from '../../mesh/istio/authorization-policy.ts'
import { Refused } from '../../platform/base/errors.ts'
import { hasLabels } from '../../platform/kubernetes/label-selector.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { seesHttp } from '../authorization/evaluate/proxy-chain.ts'
import { type AccessRequest, eachPods, evaluate } from '../authorization/evaluate.ts'
import type { EvaluationInput } from '../authorization/evaluation-input.ts'
import { ofAnyOtherPath, type Witness, witnessesOf } from './witnesses.ts'

export type Verdict = 'allowed' | 'denied' | 'undecided'

/** Requests of one client whose result changes. An absent field matches any value. */
export type Change = {
  readonly host?: string
  readonly method?: string
  readonly path?: string
  /** Any host except these, which policies name. */
  readonly notHosts?: readonly string[]
  readonly notMethods?: readonly string[]
  readonly notPaths?: readonly string[]
  /** Connections without HTTP, if their result differs. */
  readonly carries?: 'tcp'
  readonly before: Verdict
  readonly after: Verdict
}

/** The two sides of a compared request. A side is undefined if the destination or the client does not exist, so that nothing passes. */
type Pair = readonly [EvaluationInput | undefined, EvaluationInput | undefined]

type Compared = {
  readonly changes: readonly Change[]
  /** The reasons why it is unknown if the result of some requests changes. */
  readonly doubts: readonly string[]
}

type Verdicts = { readonly before: Verdict; readonly after: Verdict }

type Cell = { readonly method: Witness; readonly path: Witness; readonly before: Verdict; readonly after: Verdict }

/**
 * Compares the results of all requests of a client to a port, for each host, method and path that policies distinguish. If the client may send a request
 * in several `ways`, a result counts as unchanged if it is unchanged in each of them.
 */
export const compareRequests = (given: Pair, givenWays: readonly Pair[] = []): Compared => {
  const doubts = new Set<string>()
  const [pair, ways] = [narrowed(given), givenWays.map(narrowed)]
  const [before, after] = pair
  const decide = (request: Request): Verdicts => {
    const [old, now] = [verdictOf(before, request), verdictOf(after, request)]
    const isKnown = () => (ways.length > 0 ? ways : [pair]).every((way) => isSettled(way, request))
    if (old.is === 'undecided' && now.is === 'undecided' && !isKnown()) doubts.add(ofAnyOtherPath(now.sentence))
    return { before: old.is, after: now.is }
  }
  const sides = [pair, ...ways].flat()
  const seen = sides.some((side) => side && eachPods(side.request, side.snapshot).some((one) => seesHttp(...one)))
  const { hosts, methods, paths, isWhole } = witnessesOf(
    seen ? sides.flatMap((side) => side?.snapshot.policies ?? []) : [],
  )
  const byHost = hosts.map((host) => ({
    host,
    cells: methods.flatMap((method) =>
      paths.map((path): Cell => {
        // if no proxy sees HTTP, a request is a connection
        const request = seen ? { host: host.value, method: method.value, path: path.value } : {}
        return { method, path, ...decide(request) }
      }),
    ),
  }))
  const text = (one: (typeof byHost)[number]) => JSON.stringify(one.cells.map((cell) => [cell.before, cell.after]))
  const isSameForAll = new Set(byHost.map(text)).size === 1
  const changes = isSameForAll
    ? merged(byHost[0]?.cells ?? [], {})
    : byHost.flatMap((one) => {
        const alike = byHost.filter((other) => text(other) === text(one)).flatMap(({ host }) => host.label ?? [])
        return merged(one.cells, named('host', one.host, alike))
      })
  if (!isWhole) doubts.add(TOO_MANY)
  return { changes: [...changes, ...(seen ? plain(pair, changes, decide) : [])], doubts: [...doubts] }
}

/** Compares connections without HTTP, if a port declares no protocol. The list is empty if HTTP requests change in the same way. */
const plain = (pair: Pair, changes: readonly Change[], decide: (request: Request) => Verdicts): Change[] => {
  if (pair.every((side) => side?.request.to.protocol === 'http')) return []
  const verdicts = decide({ carries: 'tcp' })
  const [first] = changes
  const isAlone = changes.length === 1 && first && Object.keys(first).length === Object.keys(verdicts).length
  const isTold = isAlone && first.before === verdicts.before && first.after === verdicts.after
  return verdicts.before === verdicts.after || isTold ? [] : [{ carries: 'tcp', ...verdicts }]
}

/** The doubt if policies distinguish more requests than are compared. */
export const TOO_MANY = 'policies distinguish more requests than are compared, for example by paths that overlap'

/** Returns what is built of a question. Returns undefined if the client or the destination does not exist. */
export const ifThere = <T>(build: () => T): T | undefined => {
  try {
    return build()
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** Returns the same request, sent straight to the pods. */
export const pastWaypoints = ({ request, snapshot, steps }: EvaluationInput): EvaluationInput => ({
  request: { ...request, ...straight(request) },
  snapshot: { ...snapshot, others: snapshot.others?.map((one) => ({ ...one, ...straight(one) })) },
  steps,
})

const straight = ({ from, to }: Pick<AccessRequest, 'from' | 'to'>): Pick<AccessRequest, 'from' | 'to'> =>
  to.gateway ? { from, to } : { from: { ...from, isGateway: true }, to: { ...to, service: undefined } }

type Request = Partial<Pick<EvaluationInput['request'], 'host' | 'method' | 'path' | 'carries'>>

const verdictOf = (
  side: EvaluationInput | undefined,
  request: Request,
): { readonly is: Verdict; readonly sentence: string } => {
  if (side === undefined) return { is: 'denied', sentence: '' }
  const { allowed, decided, sentence } = evaluate({ ...side.request, ...request }, side.snapshot)
  if (allowed) return { is: 'allowed', sentence }
  return { is: decided ? 'denied' : 'undecided', sentence }
}

/** Tells if an undecided result is certainly unchanged: for either value of istiod's auto-allow flag it is decided, and the same on both sides. */
const isSettled = (pair: Pair, request: Request): boolean =>
  [true, false].every((autoAllowWaypoint) => {
    const [old, now] = pair.map((side) =>
      verdictOf(
        side && {
          ...side,
          snapshot: { ...side.snapshot, autoAllowWaypoint: side.snapshot.autoAllowWaypoint ?? autoAllowWaypoint },
        },
        request,
      ),
    )
    return old?.is === now?.is && old?.is !== 'undecided'
  })

/** Reduces the policies to those that may apply to the request. Every request evaluates each policy, and only a few of a cluster's policies apply. */
const narrowed = ([before, after]: Pair): Pair => {
  const narrow = (side: EvaluationInput | undefined) =>
    side && { ...side, snapshot: { ...side.snapshot, policies: side.snapshot.policies.filter(mayHoldFor(side)) } }
  return [narrow(before), narrow(after)]
}

/** Tells if a policy may apply. It does not if it refers only to other Services, or selects pods of other namespaces, or other pods. */
const mayHoldFor = ({ request: { to }, snapshot }: EvaluationInput): ((policy: AuthorizationPolicy) => boolean) => {
  const workloads = [snapshot, ...(snapshot.others ?? [])].flatMap((one) => one.workloads)
  // unknown pods are assumed to have the name of their application
  const pods = [...workloads.map(({ labels }) => labels), to.gateway?.labels ?? { [NAME_LABEL]: to.application }]
  const { rootNamespace, otherRoots = [] } = snapshot
  const homes = new Set([to.namespace, rootNamespace, ...otherRoots, ...workloads.map(({ namespace }) => namespace)])
  return ({ metadata: { namespace }, spec }) => {
    const targets = targetsOf(spec)
    const isElsewhere =
      targets.length === 0
        ? !homes.has(namespace)
        : targets.every(({ kind, name }) => kind === 'Service' && (name !== to.service || namespace !== to.namespace))
    return !isElsewhere && pods.some((labels) => hasLabels(labels, spec.selector?.matchLabels))
  }
}

/** Merges changes into as few as possible: one for all methods and paths, for all methods of a path, for all paths of a method, or for one of each. */
const merged = (cells: readonly Cell[], asked: Partial<Change>): Change[] => {
  const changed = cells.filter(({ before, after }) => before !== after)
  const [first] = changed
  if (first === undefined) return []
  if (changed.length === cells.length && isSame(cells)) return [{ ...asked, ...verdictsOf(first) }]
  const paths = whole(cells, 'path')
  const methods = paths.length > 0 ? [] : whole(cells, 'method')
  const isCovered = (cell: Cell) => paths.includes(cell.path) || methods.includes(cell.method)
  const row = (by: 'path' | 'method', witness: Witness, all: readonly Witness[]): Change[] => {
    const cell = cells.find((one) => one[by] === witness)
    if (cell === undefined) return []
    const alike = all.filter((other) => {
      const theirs = cells.find((one) => one[by] === other)
      return theirs?.before === cell.before && theirs.after === cell.after
    })
    return [{ ...asked, ...named(by, witness, labelsOf(alike)), ...verdictsOf(cell) }]
  }
  return [
    ...paths.flatMap((path) => row('path', path, paths)),
    ...methods.flatMap((method) => row('method', method, methods)),
    ...changed
      .filter((cell) => !isCovered(cell))
      .map((cell) => ({
        ...asked,
        ...named('method', cell.method, []),
        ...named('path', cell.path, labelsOf(alikePaths(cells, cell))),
        ...verdictsOf(cell),
      })),
  ]
}

const isSame = (some: readonly Cell[]): boolean =>
  some.every(({ before, after }) => before === some[0]?.before && after === some[0]?.after)

/** Lists the methods or paths whose requests all change in the same way. */
const whole = (cells: readonly Cell[], by: 'method' | 'path'): Witness[] =>
  [...new Set(cells.map((cell) => cell[by]))].filter((witness) => {
    const row = cells.filter((cell) => cell[by] === witness)
    return row.every((cell) => cell.before !== cell.after) && isSame(row)
  })

/** Lists the paths of the same method that change in the same way. */
const alikePaths = (cells: readonly Cell[], cell: Cell): Witness[] =>
  cells.flatMap((one) => (one.method === cell.method && isSame([one, cell]) ? [one.path] : []))

const labelsOf = (some: readonly Witness[]): string[] => some.flatMap(({ label }) => label ?? [])

const verdictsOf = ({ before, after }: Cell): Pick<Change, 'before' | 'after'> => ({ before, after })

const EXCEPTIONS = { host: 'notHosts', method: 'notMethods', path: 'notPaths' } as const

/** Names a witness. Narrower patterns are exceptions only if they change differently. */
const named = (field: keyof typeof EXCEPTIONS, { label, not }: Witness, alike: readonly string[]): Partial<Change> => {
  const excepted = label === undefined ? not : not.filter((one) => !alike.includes(one))
  return {
    ...(label !== undefined && { [field]: label }),
    ...(excepted.length > 0 && { [EXCEPTIONS[field]]: excepted }),
  }
}
