import type { AuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { Refused } from '../../platform/base/errors.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { hasLabels } from '../authorization/evaluate/cluster-snapshot.ts'
import { seesHttp } from '../authorization/evaluate/proxy-chain.ts'
import { type AccessRequest, eachPods, evaluate } from '../authorization/evaluate.ts'
import { buildInput, type EvaluationInput } from '../authorization/evaluation-input.ts'
import { ofAnyOtherPath, type Witness, witnessesOf } from './witnesses.ts'

export type Verdict = 'allowed' | 'denied' | 'undecided'

/** The requests of one client whose answer changes. What is absent is any. */
export type Change = {
  readonly host?: string
  readonly method?: string
  readonly path?: string
  /** Any but these, which policies name. */
  readonly notHosts?: readonly string[]
  readonly notMethods?: readonly string[]
  readonly notPaths?: readonly string[]
  /** Connections that carry no HTTP, where these answer otherwise. */
  readonly carries?: 'tcp'
  readonly before: Verdict
  readonly after: Verdict
}

/** The two sides of a request that is compared. A side is undefined where there is nothing to be asked, and so nothing passes. */
export type Pair = readonly [EvaluationInput | undefined, EvaluationInput | undefined]

export type Compared = {
  readonly changes: readonly Change[]
  /** The reasons why it is not known of some requests whether their answer changes. */
  readonly doubts: readonly string[]
}

type Verdicts = { readonly before: Verdict; readonly after: Verdict }

type Cell = { readonly method: Witness; readonly path: Witness; readonly before: Verdict; readonly after: Verdict }

/**
 * Compares the answers to all requests of a client to a port: of each host, method and path that policies tell apart. Where it is not known in which of some
 * `ways` they are sent, an answer stays what it is where it does in each.
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
        // where nobody looks at it, a request is a connection
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
        return merged(one.cells, named('host', 'notHosts', one.host, alike))
      })
  if (!isWhole) doubts.add(TOO_MANY)
  return { changes: [...changes, ...(seen ? plain(pair, changes, decide) : [])], doubts: [...doubts] }
}

/** The change of connections without HTTP, where a port declares no protocol, unless all that it carries changes alike. */
const plain = (pair: Pair, changes: readonly Change[], decide: (request: Request) => Verdicts): Change[] => {
  if (pair.every((side) => side?.request.to.protocol === 'http')) return []
  const verdicts = decide({ carries: 'tcp' })
  const [first] = changes
  const isAlone = changes.length === 1 && first && Object.keys(first).length === Object.keys(verdicts).length
  const isTold = isAlone && first.before === verdicts.before && first.after === verdicts.after
  return verdicts.before === verdicts.after || isTold ? [] : [{ carries: 'tcp', ...verdicts }]
}

/** Said where more requests are told apart than are asked about. */
export const TOO_MANY = 'policies tell more requests apart than are asked about, as by paths that cross one another'

/** Returns the input of an evaluation; undefined where there is nothing to be asked. */
export const inputOrNothing = (...asked: Parameters<typeof buildInput>): EvaluationInput | undefined => {
  try {
    return buildInput(...asked)
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** The same request, sent straight to the pods. */
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

/** Tells if an answer stays what it is, though it is not known: with each value of a flag of istiod it is known, and the same. */
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

/** The same request with the policies that may hold for it: of a cluster these are few, and each is asked about for every request. */
const narrowed = ([before, after]: Pair): Pair => {
  const narrow = (side: EvaluationInput | undefined) =>
    side && { ...side, snapshot: { ...side.snapshot, policies: side.snapshot.policies.filter(mayHoldFor(side)) } }
  return [narrow(before), narrow(after)]
}

/** False for policies that refer to Services alone, none of them the one that is asked for, or that select other pods. */
const mayHoldFor =
  ({ request: { to }, snapshot }: EvaluationInput) =>
  ({ spec: { targetRefs = [], selector } }: AuthorizationPolicy): boolean => {
    const isElsewhere =
      targetRefs.length > 0 && targetRefs.every(({ kind, name }) => kind === 'Service' && name !== to.service)
    const workloads = [snapshot, ...(snapshot.others ?? [])].flatMap((one) => one.workloads)
    // pods that are not known are taken to have the name of their application
    const pods = [...workloads.map(({ labels }) => labels), to.gateway?.labels ?? { [NAME_LABEL]: to.application }]
    return !isElsewhere && pods.some((labels) => hasLabels(labels, selector?.matchLabels))
  }

/** As few changes as say it: of all methods and paths, of all methods of a path, of all paths of a method, or of both. */
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
    return [{ ...asked, ...namedBy(by, witness, labelsOf(alike)), ...verdictsOf(cell) }]
  }
  return [
    ...paths.flatMap((path) => row('path', path, paths)),
    ...methods.flatMap((method) => row('method', method, methods)),
    ...changed
      .filter((cell) => !isCovered(cell))
      .map((cell) => ({
        ...asked,
        ...namedBy('method', cell.method, []),
        ...namedBy('path', cell.path, labelsOf(alikePaths(cells, cell))),
        ...verdictsOf(cell),
      })),
  ]
}

const isSame = (some: readonly Cell[]): boolean =>
  some.every(({ before, after }) => before === some[0]?.before && after === some[0]?.after)

/** The methods or paths all of whose requests change alike. */
const whole = (cells: readonly Cell[], by: 'method' | 'path'): Witness[] =>
  [...new Set(cells.map((cell) => cell[by]))].filter((witness) => {
    const row = cells.filter((cell) => cell[by] === witness)
    return row.every((cell) => cell.before !== cell.after) && isSame(row)
  })

/** The paths of the same method that change alike. */
const alikePaths = (cells: readonly Cell[], cell: Cell): Witness[] =>
  cells.flatMap((one) => (one.method === cell.method && isSame([one, cell]) ? [one.path] : []))

const labelsOf = (some: readonly Witness[]): string[] => some.flatMap(({ label }) => label ?? [])

const verdictsOf = ({ before, after }: Cell): Pick<Change, 'before' | 'after'> => ({ before, after })

const namedBy = (by: 'method' | 'path', witness: Witness, alike: readonly string[]): Partial<Change> =>
  by === 'method' ? named('method', 'notMethods', witness, alike) : named('path', 'notPaths', witness, alike)

/** Names a witness. What is narrower and changes alike needs no exception. */
const named = (
  field: 'host' | 'method' | 'path',
  notField: 'notHosts' | 'notMethods' | 'notPaths',
  { label, not }: Witness,
  alike: readonly string[],
): Partial<Change> => {
  const excepted = label === undefined ? not : not.filter((one) => !alike.includes(one))
  return { ...(label !== undefined && { [field]: label }), ...(excepted.length > 0 && { [notField]: excepted }) }
}
