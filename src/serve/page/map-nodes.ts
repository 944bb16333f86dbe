import type { Graph } from '../../ask/views/graph.ts'
import { waypointOf } from '../../ask/views/waypoint.ts'
import { defined } from '../../platform/base/own-value.ts'
import { subjectName, subjectNamed } from '../../platform/base/subject.ts'
import { hasLabels } from '../../platform/kubernetes/label-selector.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import type { ApplicationView, UnreadableView } from '../http/applications.ts'
import type { MapNode } from './page-map.ts'

type Known = {
  /** The applications, and those whose memories cannot be read. */
  readonly all: readonly (ApplicationView | UnreadableView)[]
  readonly graph: Graph
  /** Workloads without a memory, by `namespace/name`. */
  readonly untold: ReadonlySet<string>
  /** The applications that any client may reach. */
  readonly open: ReadonlySet<string>
  readonly services: readonly KubernetesObject[]
}

/** Describes each application: its place on the mesh, and things to know at a glance. */
export const nodesOf = ({ all, graph, untold, open, services }: Known): MapNode[] => {
  const ports = new Map(services.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, portsOf(one)]))
  const problems = new Map(all.flatMap((one) => ('problem' in one ? [[subjectName(one), one.problem] as const] : [])))
  const byId = new Map(all.flatMap((one) => ('problem' in one ? [] : [[subjectName(one), one] as const])))
  const kinds = new Map(graph.nodes.map(({ id, kind }) => [id, kind]))
  const groups = groupsOf(graph, byId)
  const ids = new Set([...kinds.keys(), ...problems.keys(), ...untold])
  return [...ids].map((id) => {
    const node = {
      ...describe(id, byId.get(id), problems.get(id), untold.has(id)),
      ports: ports.get(id) ?? [],
      kind: kinds.get(id) ?? ('off' as const),
      ...(byId.get(id)?.runs && { access: open.has(id) ? ('open' as const) : ('guarded' as const) }),
      ...(groups.has(id) && { group: groups.get(id) as string }),
    }
    return { ...node, caption: captionOf(node) }
  })
}

const portsOf = ({ spec }: Typed<'Service'>): number[] => (spec?.ports ?? []).flatMap(({ port = [] }) => port)

const describe = (id: string, view: ApplicationView | undefined, problem: string | undefined, isUntold: boolean) => {
  const named = { id, ...subjectNamed(id) }
  if (problem !== undefined) return { ...named, status: 'unreadable' as const, message: problem, marks: [] }
  if (view?.status.status === 'removed') return { ...named, ...view.status, marks: [] }
  if (isUntold)
    return { ...named, status: 'untold' as const, message: 'It runs, and no event has come for it yet.', marks: [] }
  if (view === undefined)
    return { ...named, status: 'unknown' as const, message: 'meshstep has no memory of it', marks: [] }
  const { status, message } = view.status
  const known = defined({ beacon: beaconOf(view), waypoint: waypointOf(view) })
  return { ...named, status, message, marks: marksOf(view), ...known }
}

const beaconOf = ({ relations }: ApplicationView): string | undefined =>
  relations.find(({ stands, interface: name, role }) => stands && name === 'service_mesh' && role === 'requires')
    ?.remote

const marksOf = ({ config, labels, wanted, conditions, status }: ApplicationView): string[] => {
  const isHeld = hasLabels(labels, wanted)
  const marks: Record<string, boolean> = {
    hardened: config.mesh?.hardened === true,
    audit: (config.mesh?.enforcement ?? config.enforcement) === 'audit',
    waiting: conditions.some(({ type }) => type === 'Waiting'),
    conflict: !isHeld && status.status === 'active',
  }
  return Object.keys(marks).filter((mark) => marks[mark])
}

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

const captionOf = ({ kind, access, marks, status }: Omit<MapNode, 'caption'>): string => {
  if (status === 'untold') return 'no event yet'
  if (['removed', 'unknown', 'unreadable'].includes(status)) return status
  const where = { beacon: 'runs the mesh', mesh: 'on mesh', off: 'off mesh' }[kind]
  const who = kind === 'beacon' || access === undefined ? [] : [access]
  const worse = status === 'active' || marks.includes(status) ? [] : [status]
  return [where, ...who, ...worse, ...marks].join(' · ')
}
