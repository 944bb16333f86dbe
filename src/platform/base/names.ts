import * as z from 'zod'

/** RFC 1123 label. */
export const DNS_LABEL = /^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

/** RFC 1123 subdomain as in Kubernetes: the total length is limited, that of its parts is not. */
export const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const OF_LABELS = 'at most 63 lower-case letters, digits and hyphens'

/** A name that is a DNS label. `what` describes it in a problem. */
export const labelName = (what: string) => {
  const expected = `expected ${what}: ${OF_LABELS}`
  return z.string().regex(DNS_LABEL, expected)
}

/** A Kubernetes namespace. Juju calls it a model. */
export const Namespace = labelName('a namespace')

/** A Juju application. Its name has the limits of a namespace, because it also names a Service, a workload and a label value. */
export const Application = labelName('an application')

/** A name that is a DNS subdomain. */
export const subdomainName = (what: string) => {
  const expected = `expected the name of ${what}`
  return z.string().regex(DNS_SUBDOMAIN, expected)
}

/** The name of an object of Kubernetes. */
export const ObjectName = subdomainName('a Kubernetes object')
