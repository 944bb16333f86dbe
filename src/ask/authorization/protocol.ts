import type { V1ServicePort } from '@kubernetes/client-node'
import { joinAnd } from '../../platform/base/printed.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'

/** A port of a Service. */
export type ServicePort = Readonly<V1ServicePort>

/** Lists the TCP ports of a Service: the mesh carries no others. A UDP port may have the same number. */
export const tcpPorts = ({ spec }: Typed<'Service'>): readonly ServicePort[] =>
  (spec?.ports ?? []).filter((one): one is ServicePort => one.port !== undefined && (one.protocol ?? 'TCP') === 'TCP')

const HTTP = ['http', 'http2', 'grpc', 'grpc-web', 'http_proxy']
const TCP = ['tcp', 'https', 'tls', 'mongo', 'redis', 'mysql']

/** The standard values of appProtocol in Kubernetes. */
const STANDARD: Readonly<Record<string, 'http' | 'tcp'>> = {
  'kubernetes.io/h2c': 'http',
  'kubernetes.io/ws': 'http',
  'kubernetes.io/wss': 'tcp',
}

/** Ports without protocol detection because the server speaks first: SMTP, DNS, MySQL, MongoDB. */
const SERVER_FIRST = [25, 53, 3306, 27_017]

/**
 * Detects the protocol that a waypoint assumes for a port. appProtocol wins over the port name up to its first hyphen. Returns undefined if Istio inspects
 * each connection (istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection). Encrypted traffic is TCP.
 */
export const detectProtocol = ({ port, name = '', appProtocol }: ServicePort): 'http' | 'tcp' | undefined => {
  if (appProtocol !== undefined && Object.hasOwn(STANDARD, appProtocol)) return STANDARD[appProtocol]
  const said = (appProtocol ?? name).toLowerCase()
  if (said.startsWith('grpc-web')) return 'http'
  const [protocol = ''] = said.split('-')
  if (HTTP.includes(protocol)) return 'http'
  return TCP.includes(protocol) || SERVER_FIRST.includes(port) ? 'tcp' : undefined
}

/** Reports the missing port of a Service and the existing ones: `has no port 90, but 80 and 443`. */
export const lacksPort = (ports: readonly ServicePort[], port: number | string): string => {
  const others = ports.map((one) => String(one.port))
  return `has no port ${port}, ${others.length > 0 ? `but ${joinAnd(others)}` : 'nor any other'}`
}
