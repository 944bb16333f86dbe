import { isIP } from 'node:net'

/** The namespaces in which a short name may be, and the DNS domain of the cluster. */
export type Search = { readonly namespaces: readonly string[]; readonly domain: string }

/**
 * Completes the Service name in a URL or `host:port`, because nginx has no DNS search list. `loki` is in the first namespace. `loki.logs` is completed if
 * `logs` is one of the namespaces. `loki.logs.svc` lacks the domain. Any other name counts as complete.
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

/** Tells if a name is left as it is. A numeric name may be a shortened address. */
const isLocal = (host: string): boolean => host === 'localhost' || /^[0-9]/.test(host)
