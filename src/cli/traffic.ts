import type { Classified, TrafficClass } from '../ask/traffic/classify.ts'
import type { TrafficView } from '../ask/traffic/traffic.ts'
import type { Table } from './output.ts'

/** A row for each client and target. The cluster stands behind a name where there are several, and there is a column for dry runs where there are any. */
export const trafficTable = ({ flows, namespace, window }: TrafficView): Table | string => {
  if (flows.length === 0) return `no traffic to ${namespace} was seen in the last ${window}`
  const names = namesIn(flows)
  const isAudited = flows.some(({ ifEnforced }) => ifEnforced !== undefined)
  const titles = ['FROM', 'TO', 'PROTOCOL', 'REQUESTS', 'REFUSED', 'RELATION', 'ACCESS', 'CLASS']
  return {
    titles: [...titles, ...(isAudited ? ['IF ENFORCED'] : [])],
    rows: flows.map((flow) => [
      ...[names.from(flow), names.to(flow)],
      flow.class === 'allowed and silent' ? '' : flow.protocol,
      ...[String(flow.requests), String(flow.refused)],
      ...[flow.relations.map(({ id, label }) => `${id} (${label})`).join(', '), flow.access, flow.class],
      ...(isAudited ? [flow.ifEnforced ?? ''] : []),
    ]),
  }
}

/** Arrows of https://mermaid.js.org/syntax/flowchart.html: a cross for refused, thick without a relation, dotted for silent. */
const ARROWS: Readonly<Record<TrafficClass, string>> = {
  refused: '--x',
  'used without a relation': '==>',
  'allowed and used': '-->',
  'allowed and silent': '-.->',
}

export const trafficMermaid = ({ flows }: TrafficView): string => {
  const names = namesIn(flows)
  const all = [...new Set(flows.flatMap((flow) => [names.from(flow), names.to(flow)]))].toSorted()
  const node = (name: string) => `n${all.indexOf(name)}`
  return [
    'graph LR',
    ...all.map((name) => `  ${node(name)}["${name.replaceAll('"', '#quot;')}"]`),
    ...flows.map(
      (flow) => `  ${node(names.from(flow))} ${ARROWS[flow.class]}|${labelOf(flow)}| ${node(names.to(flow))}`,
    ),
  ].join('\n')
}

const labelOf = ({ class: kind, protocol, requests, refused, ifEnforced }: Classified): string => {
  if (kind === 'allowed and silent') return 'silent'
  const isEnded = ifEnforced === 'refused' || ifEnforced === 'partly refused'
  return `${protocol} ${requests}${refused > 0 ? `, ${refused} refused` : ''}${isEnded ? `, if enforced ${ifEnforced}` : ''}`
}

const namesIn = (flows: readonly Classified[]) => {
  const clusters = new Set(flows.flatMap(({ fromCluster, toCluster }) => [fromCluster ?? [], toCluster ?? []].flat()))
  const named = (name: string, cluster: string | undefined) =>
    clusters.size > 1 && cluster !== undefined ? `${name}@${cluster}` : name
  return {
    from: ({ from, fromCluster }: Classified) => named(from, fromCluster),
    to: ({ to, toCluster }: Classified) => named(to, toCluster),
  }
}
