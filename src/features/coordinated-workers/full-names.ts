import { isIP } from 'node:net'

/** The namespaces of a short name, and the DNS domain of the cluster. */
export type Search = { readonly namespaces: readonly string[]; readonly domain: string }

/**
 * Completes the Service name in a URL or `host:port`, as nginx has no DNS search list. `loki` is in the first namespace, `loki.logs` is
 * completed where `logs` is one of the namespaces, and `loki.logs.svc` lacks the domain. Every other name counts as complete.
 */
export const withFullName = (url: string, search: Search): string =>
  url.replace(
    /^([a-z]+:\/\/)?([^/?#@:[\]]+)(?=(?::\d+)?(?:[/?#]|$))/i,
    (_, scheme: string | undefined, host: string) => {
      return `${scheme ?? ''}${fullName(host, search)}`
    },
  )

const fullName = (host: string, { namespaces: [first = '', ...others], domain }: Search): string => {
  const labels = host.split('.')
  if (isIP(host) !== 0 || labels.includes('')) return host
  if (labels.length === 1) return isLocal(host) ? host : `${host}.${first}.svc.${domain}`
  const last = labels.at(-1) ?? ''
  if (last === 'svc' && labels.length > 2) return `${host}.${domain}`
  return labels.length === 2 && [first, ...others].includes(last) ? `${host}.svc.${domain}` : host
}

/** A numeric name may be an address in short form. */
const isLocal = (host: string): boolean => host === 'localhost' || /^[0-9]/.test(host)
