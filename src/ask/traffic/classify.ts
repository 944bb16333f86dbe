import type { IfEnforced } from '../preview/access.ts'
import type { Related } from '../views/graph.ts'
import type { Flow } from './flows.ts'

/**
 * `allowed`: policies let some request of the client through, to some port. `open`: no policy restricts the target. `none`: nothing passes now. `unknown`:
 * that could not be decided.
 */
export type AccessNow = 'allowed' | 'open' | 'none' | 'unknown'

/** The classes, in the order in which a person looks at them. */
const CLASSES = ['refused', 'used without a relation', 'allowed and used', 'allowed and silent'] as const
export type TrafficClass = (typeof CLASSES)[number]

export type Classified = Flow & {
  /** The relations of both sides, each with the endpoint of its provider. */
  readonly relations: readonly Pick<Related, 'id' | 'label'>[]
  readonly access: AccessNow
  readonly class: TrafficClass
  /** An estimate of what would become of it if dry runs were enforced. Absent where there are none, and nothing passed. */
  readonly ifEnforced?: IfEnforced
}

type Standing = {
  /** The relations that stand, each from its requirer to its provider. */
  readonly related: readonly Related[]
  /** The access of a client to a target, by their names. */
  access(from: string, to: string): AccessNow
  /** The result if dry runs were enforced. Undefined without dry runs. */
  ifEnforced?(from: string, to: string): IfEnforced | undefined
}

/** Lists flows and silent relations, the worst class and the largest amount first. Only relations to `namespace` are looked at. */
export const classify = (
  flows: readonly Flow[],
  namespace: string,
  { related, access, ifEnforced }: Standing,
): Classified[] => {
  const used = flows.map((flow): Classified => {
    const now = access(flow.from, flow.to)
    const relations = relationsOf(related, flow, now)
    const enforced = flow.requests > flow.refused ? ifEnforced?.(flow.from, flow.to) : undefined
    return {
      ...{ ...flow, relations, access: now, class: classOf(flow, relations.length > 0, now) },
      ...(enforced && { ifEnforced: enforced }),
    }
  })
  const seen = new Set(flows.map(({ from, to }) => `${from} ${to}`))
  const silent = pairsOf(related, namespace)
    .filter(({ from, to }) => !seen.has(`${from} ${to}`) && access(from, to) === 'allowed')
    .map(
      ({ from, to }): Classified => ({
        ...{ from, to, protocol: 'tcp', requests: 0, refused: 0, access: 'allowed', class: 'allowed and silent' },
        relations: relationsOf(related, { from, to }, 'allowed'),
      }),
    )
  return [...used, ...silent].toSorted(inOrder)
}

type Pair = Pick<Flow, 'from' | 'to'>

/** Lists the pairs of related applications, both ways, whose target is in the namespace. */
export const pairsOf = (related: readonly Related[], namespace: string): Pair[] => {
  const pairs = related.flatMap(({ from, to }) => [
    { from, to },
    { from: to, to: from },
  ])
  const inside = pairs.filter(({ from, to }) => from !== to && to.startsWith(`${namespace}/`))
  return [...new Map(inside.map((pair) => [`${pair.from} ${pair.to}`, pair])).values()]
}

/** Lists the relations that stand for a pair. Those the other way count only where there is no other, and policies grant the access. */
const relationsOf = (related: readonly Related[], { from, to }: Pair, access: AccessNow): Classified['relations'] => {
  const between = (client: string, target: string) => related.filter((one) => one.from === client && one.to === target)
  const own = between(from, to)
  const found = own.length > 0 || access !== 'allowed' ? own : between(to, from)
  return found.map(({ id, label }) => ({ id, label }))
}

const classOf = ({ from, to, requests, refused }: Flow, isRelated: boolean, access: AccessNow): TrafficClass => {
  if (refused >= requests) return 'refused'
  // units of one application need no relation
  return (isRelated || from === to) && access !== 'none' ? 'allowed and used' : 'used without a relation'
}

const inOrder = (one: Classified, other: Classified): number =>
  CLASSES.indexOf(one.class) - CLASSES.indexOf(other.class) ||
  other.requests - one.requests ||
  `${one.from} ${one.to}`.localeCompare(`${other.from} ${other.to}`)
