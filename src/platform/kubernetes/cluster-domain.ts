/** Reads the cluster's DNS domain from the resolv.conf of a pod. Its search list has `svc.{domain}`. */
export const parseClusterDomain = (resolvConf: string): string | undefined =>
  [...resolvConf.matchAll(/^\s*search\s+(.*)$/gm)]
    .flatMap(([, names = '']) => names.trim().split(/\s+/))
    .map((name) => /^svc\.([a-z0-9]([-.a-z0-9]*[a-z0-9])?)\.?$/.exec(name)?.[1])
    .find((domain) => domain !== undefined)

/** The IP address of the first name server in a resolv.conf. */
export const parseResolver = (resolvConf: string): string | undefined => /^\s*nameserver\s+(\S+)/m.exec(resolvConf)?.[1]
