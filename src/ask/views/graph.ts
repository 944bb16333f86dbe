import { areEnrolling } from '../../core/relations/mesh-labels.ts'
import type { Config } from '../../core/state/config.ts'
import type { NodeKind } from './node-kind.ts'
import type { RelationView } from './relations.ts'

/** The part of an application's answer that the graph shows. */
export type Shown = {
  readonly namespace: string
  readonly application: string
  /** Absent for a memory that cannot be read. */
  readonly status?: { readonly status: string } | undefined
  readonly config: Config
  readonly labels: Readonly<Record<string, string>>
  readonly relations: readonly RelationView[]
}

/** An established relation, from its requirer to its provider. */
export type Related = {
  readonly from: string
  readonly to: string
  /** The provider's endpoint. */
  readonly label: string
  readonly id: number
  readonly interface: string
}

/** Applications by `namespace/application`, and an edge from each requirer to its provider. */
export type Graph = {
  readonly nodes: readonly { readonly id: string; readonly kind: NodeKind }[]
  readonly edges: readonly Related[]
}

/**
 * Builds the graph from the applications, without removed ones. A relation with a beacon is no edge: it decides the kind of the node.
 */
export const graphOf = (all: readonly Shown[]): Graph => {
  const views = all.filter(({ status }) => status?.status !== 'removed')
  const edges = views.flatMap(edgesOf)
  // both sides report a relation, and the provider's report, with its endpoint, wins
  const byKey = new Map(
    edges.toSorted((one, other) => Number(one.isOwn) - Number(other.isOwn)).map((one) => [one.key, one]),
  )
  const kinds = new Map<string, NodeKind>(
    edges.flatMap(({ from, to }) => [[from, 'off'] as const, [to, 'off'] as const]),
  )
  for (const view of views) kinds.set(`${view.namespace}/${view.application}`, kindOf(view))
  return {
    nodes: [...kinds].map(([id, kind]) => ({ id, kind })).toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    edges: [...byKey.values()].map(({ key: _, isOwn: __, ...edge }) => edge),
  }
}

const kindOf = ({ config, labels = {} }: Shown): NodeKind => {
  if (config?.mesh) return 'beacon'
  return areEnrolling(labels) ? 'mesh' : 'off'
}

const edgesOf = ({ namespace, application, relations = [] }: Shown) =>
  relations
    .filter(({ stands, interface: name }) => stands && name !== 'service_mesh')
    .map(({ id, endpoint: label, interface: name, role, remote }) => {
      const own = `${namespace}/${application}`
      const isOwn = role === 'provides'
      const [from, to] = isOwn ? [remote, own] : [own, remote]
      return { key: `${id} ${from} ${to}`, from, to, label, id, interface: name, isOwn }
    })
