import { spawn } from 'node:child_process'
import { until } from '../process/helpers.ts'
import type { Cluster } from './cluster.ts'

const { MESHSTEP_ISTIOD_DEBUG, MESHSTEP_WAYPOINT_CONNECT } = process.env

type Text = { exact?: string; prefix?: string; suffix?: string; safeRegex?: { regex: string } }

/** A permission or a principal of Envoy's RBAC. */
type Matcher = {
  any?: boolean
  andRules?: { rules: Matcher[] }
  orRules?: { rules: Matcher[] }
  notRule?: Matcher
  andIds?: { ids: Matcher[] }
  orIds?: { ids: Matcher[] }
  notId?: Matcher
  header?: { name: string; stringMatch?: Text }
  urlPath?: { path: Text }
  destinationPort?: number
  filterState?: { key: string; stringMatch: Text }
}

type Rules = { action?: 'DENY'; policies?: Record<string, { permissions: Matcher[]; principals: Matcher[] }> }
type Filter = { name: string; typedConfig: { rules?: Rules; httpFilters?: Filter[] } }
type Chain = { name: string; filters: Filter[] }

/** The filter chains of a waypoint, as istiod sends them. */
export type WaypointView = readonly Chain[]

export type Asked = { client: string; port: number; method: string; path: string }

/** Reads what istiod sends to the waypoint of a Gateway. Where no proxy runs, a command connects in its place. */
export const waypointView = async ({ kubernetes, namespace }: Cluster): Promise<WaypointView> => {
  const [gateway] = await kubernetes.list('Gateway', namespace)
  const name = gateway?.metadata.name ?? ''
  const [pod] = await kubernetes.list('Pod', namespace, `gateway.networking.k8s.io/gateway-name=${name}`)
  const proxy = MESHSTEP_WAYPOINT_CONNECT
    ? spawn(`exec ${MESHSTEP_WAYPOINT_CONNECT} ${namespace}/${name}`, { shell: true, stdio: 'ignore' })
    : undefined
  try {
    const about = `${MESHSTEP_ISTIOD_DEBUG}/debug/config_dump?proxyID=${pod?.metadata.name}.${namespace}`
    return await until('istiod tells what it sends to the waypoint', async () => {
      const answer = await fetch(about)
      if (!answer.ok) return undefined
      const chains = chainsIn((await answer.json()) as Dump)
      return chains.length > 0 && chains
    })
  } finally {
    proxy?.kill()
  }
}

type Listener = { name: string; filterChains?: Chain[] }
type Dump = { configs: { dynamicListeners?: { activeState: { listener: Listener } }[] }[] }

const chainsIn = ({ configs }: Dump): Chain[] =>
  configs
    .flatMap(({ dynamicListeners = [] }) => dynamicListeners.map(({ activeState }) => activeState.listener))
    .filter(({ name }) => name === 'main_internal')
    .flatMap(({ filterChains = [] }) => filterChains)

/** Decides as the RBAC filters of the Service's chain do. */
export const waypointAllows = (view: WaypointView, host: string, asked: Asked): boolean => {
  const chain = view.find(({ name }) => name === `inbound-vip|${asked.port}|http|${host}`)
  if (chain === undefined) throw new Error(`the waypoint has no chain for port ${asked.port} of ${host}`)
  const filters = chain.filters.flatMap(({ typedConfig }) => typedConfig.httpFilters ?? [])
  return filters
    .filter(({ name }) => name === 'envoy.filters.http.rbac')
    .every(({ typedConfig: { rules } }) => rules === undefined || isLetThrough(rules, asked))
}

const isLetThrough = ({ action, policies = {} }: Rules, asked: Asked): boolean => {
  const isMet = Object.values(policies).some(
    ({ permissions, principals }) =>
      permissions.some((one) => matches(one, asked)) && principals.some((one) => matches(one, asked)),
  )
  return action === 'DENY' ? !isMet : isMet
}

const matches = (matcher: Matcher, asked: Asked): boolean => {
  const { any, andRules, andIds, orRules, orIds, notRule, notId, header, urlPath, destinationPort, filterState } =
    matcher
  const [all, some, not] = [andRules?.rules ?? andIds?.ids, orRules?.rules ?? orIds?.ids, notRule ?? notId]
  if (any !== undefined) return any
  if (all) return all.every((one) => matches(one, asked))
  if (some) return some.some((one) => matches(one, asked))
  if (not) return !matches(not, asked)
  if (urlPath) return isText(urlPath.path, asked.path)
  if (destinationPort !== undefined) return destinationPort === asked.port
  if (header?.name === ':method' && header.stringMatch) return isText(header.stringMatch, asked.method)
  if (filterState?.key === 'io.istio.peer_principal') return isText(filterState.stringMatch, asked.client)
  throw new Error(`this test does not know ${JSON.stringify(matcher)}`)
}

const isText = ({ exact, prefix, suffix, safeRegex, ...others }: Text, text: string): boolean => {
  if (Object.keys(others).length > 0) throw new Error(`this test does not know ${Object.keys(others).join(', ')}`)
  return (
    exact === text ||
    (prefix !== undefined && text.startsWith(prefix)) ||
    (suffix !== undefined && text.endsWith(suffix)) ||
    (safeRegex !== undefined && new RegExp(`^(?:${safeRegex.regex})$`).test(text))
  )
}
