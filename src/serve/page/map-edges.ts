import type { Access } from '../../ask/preview/access.ts'
import type { Graph, Related } from '../../ask/views/graph.ts'
import { Refused } from '../../platform/base/errors.ts'
import { type Subject, subjectName, subjectNamed } from '../../platform/base/subject.ts'
import type { ApplicationView } from '../http/applications.ts'
import type { MapEdge } from './page-map.ts'

/** Lists the access of a client, or of one outside the mesh, to an application. */
export type Asking = (from: Subject | undefined, to: Subject) => Promise<readonly Access[]>

/** Interfaces of logs, metrics, traces and dashboards. */
const TELEMETRY = /loki|prometheus|tracing|grafana|otlp|remote_write|metrics|parca|profiling/

/** Lists the pairs that are related, or that policies name, each with the access of the first to the second. */
export const edgesOf = async (
  { edges }: Graph,
  views: readonly ApplicationView[],
  open: ReadonlySet<string>,
  access: Asking,
): Promise<MapEdge[]> => {
  const related = edges.filter(({ from, to }) => from !== to)
  const pairs = Map.groupBy(related, ({ from, to }) => `${from} ${to}`)
  for (const { from, to } of grantedBy(views)) if (!pairs.has(`${from} ${to}`)) pairs.set(`${from} ${to}`, [])
  const known = new Set(views.map(subjectName))
  const drawn: MapEdge[] = []
  for (const [pair, relations] of pairs) {
    const [from = '', to = ''] = pair.split(' ')
    const passing = known.has(to) ? await access(subjectNamed(from), subjectNamed(to)).catch(nothingIfRefused) : []
    const allowed = passing.filter(({ after }) => after === 'allowed')
    if (allowed.length + relations.length > 0) drawn.push(edgeOf(from, to, relations, allowed, open.has(to)))
  }
  return drawn.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

const edgeOf = (
  from: string,
  to: string,
  relations: readonly Related[],
  allowed: readonly Access[],
  isOpen: boolean,
): MapEdge => ({
  ...{ id: `${from} → ${to}`, from, to },
  access: allowed.length === 0 ? 'none' : isOpen ? 'open' : 'allowed',
  isTelemetry: relations.some(({ interface: name }) => TELEMETRY.test(name)),
  label: labelOf(allowed),
  ...(allowed[0] && { sample: sampleOf(allowed[0]) }),
  relations: relations.map(({ id, label, interface: name }) => ({ id, label, interface: name })),
})

/** Treats a missing Service and workload as no access. */
const nothingIfRefused = (error: unknown): Access[] => {
  if (error instanceof Refused) return []
  throw error
}

/** Lists the pairs that policies name, whether or not they are related. An application is assumed to run as the account of its name. */
const grantedBy = (views: readonly ApplicationView[]): { from: string; to: string }[] => {
  const known = new Set(views.map(subjectName))
  return views.flatMap(({ policies = [] }) =>
    policies.flatMap(({ namespace, action, target, sources }) => {
      const to = `${namespace}/${target.replace(/^Service /, '')}`
      return action === 'ALLOW' && known.has(to)
        ? sources.filter((from) => known.has(from) && from !== to).map((from) => ({ from, to }))
        : []
    }),
  )
}

/** Writes a line for each port, with the methods and paths that belong together. */
const labelOf = (allowed: readonly Access[]): string => {
  const rows = [
    ...Map.groupBy(allowed, (change) => `${hostOf(change)}:${change.port} ${methodOf(change)}`).values(),
  ].map((changes) => ({
    port: changes[0] ? `${hostOf(changes[0])}:${changes[0].port}` : '',
    method: changes[0] ? methodOf(changes[0]) : '',
    paths: [...new Set(changes.map(pathOf))].join(', '),
  }))
  return [...Map.groupBy(rows, ({ port, paths }) => `${port} ${paths}`).values()]
    .map((same) => [same[0]?.port, same.map(({ method }) => method).join(', '), same[0]?.paths])
    .map((parts) => parts.filter((part) => part !== undefined && part !== '').join(' '))
    .join('\n')
}

const hostOf = ({ host, notHosts = [] }: Access): string =>
  host ?? (notHosts.length > 0 ? `not ${notHosts.join(', ')}` : '')

const methodOf = ({ method, notMethods = [], carries }: Access): string =>
  method ?? carries?.toUpperCase() ?? (notMethods.length > 0 ? `not ${notMethods.join(', ')}` : '')

const pathOf = ({ path, notPaths = [] }: Access): string =>
  path ?? (notPaths.length > 0 ? `all but ${notPaths.join(', ')}` : '')

const sampleOf = ({ port, method, path }: Access) => ({
  port,
  ...(method !== undefined && { method }),
  ...(path !== undefined && { path: path.replaceAll(/\{?\*+\}?/g, '0') }),
})
