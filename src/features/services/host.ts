import { isIP } from 'node:net'
import { DNS_LABEL } from '../../platform/base/names.ts'
import { printValue } from '../../platform/base/printed.ts'

/** The default DNS domain of a cluster. */
const CLUSTER_DOMAIN = 'cluster.local'

const LONGEST = 253

/** Returns the DNS name of a Service, which resolves in any namespace: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/ */
export const serviceHost = (name: string, namespace: string): string => `${name}.${namespace}.svc.${CLUSTER_DOMAIN}`

/**
 * Completes the host name that a provider in `namespace` published. It is a Service, such as `{service}` or `{service}.{namespace}`, or a host outside the
 * cluster, which has more labels. Invalid names are refused, and so are pods, because the address must outlast a pod.
 */
export const parseHost = (name: string, namespace: string): { host: string } | { problem: string } => {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  if (isAddress(name, labels)) return { problem: `expected the name of a Service, got the address ${printValue(name)}` }
  if (name.length > LONGEST || !labels.every((label) => DNS_LABEL.test(label)))
    return { problem: `expected the name of a Service, got ${printValue(name)}` }
  const { inside, zone } = split(labels)
  if (isPod(inside, zone, namespace))
    return { problem: `expected the name of a Service, got the name of a pod, ${printValue(name)}` }
  const [service = '', home = namespace, ...more] = inside
  return { host: more.length === 0 ? serviceHost(service, home) : labels.join('.') }
}

/** Tells if a name is an IP address. The last label of a DNS name is not a number, that of an IPv4 address is, in any notation. */
const isAddress = (name: string, labels: readonly string[]): boolean =>
  isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || /^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')

type Zone = 'svc' | 'pod' | undefined

/** Splits off the zone: `shop.svc.cluster.local` and `shop.svc` are `shop` in the zone `svc`. With two labels, the second is a namespace. */
const split = (labels: readonly string[]): { inside: readonly string[]; zone: Zone } => {
  const relative = labels.slice(-2).join('.') === CLUSTER_DOMAIN ? labels.slice(0, -2) : labels
  const zone = relative.at(-1)
  if (relative.length > 2 && (zone === 'svc' || zone === 'pod')) return { inside: relative.slice(0, -1), zone }
  return { inside: labels, zone: undefined }
}

/** Tells if a name is that of a pod: `{pod}.{headless service}.{namespace}`, Juju's form `web-0.web-endpoints`, or `10-1-2-3.{namespace}.pod`. */
const isPod = (inside: readonly string[], zone: Zone, namespace: string): boolean =>
  zone === 'pod' ||
  (zone === 'svc' && inside.length > 2) ||
  (zone === undefined && inside.length === 3 && inside[2] === namespace) ||
  /^([^.]+)-\d+\.\1-endpoints$/.test(inside.join('.'))
