import * as z from 'zod'

/** A Kubernetes namespace, Juju's model. RFC 1123 label. */
export const Namespace = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'expected a namespace: at most 63 lower-case letters, digits and hyphens')

/** A Juju application: what a namespace allows, as it names a Service, a workload and a label value. */
export const Application = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'expected an application: at most 63 lower-case letters, digits and hyphens',
  )

/** The name of an object of Kubernetes: RFC 1123 subdomain. */
export const ObjectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/, 'expected the name of a Kubernetes object')
