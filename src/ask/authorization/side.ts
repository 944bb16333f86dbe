import * as z from 'zod'
import { type Subject, subjectName } from '../../platform/base/subject.ts'

/** A side of a request. Objects of several kinds may share one name. */
export type Side = Subject & {
  /**
   * `application` is a workload or a Service. `pod` is pods without a workload. `sa` is all pods that run as a ServiceAccount. @default an application,
   * else a Gateway
   */
  readonly kind?: 'application' | 'gateway' | 'pod' | 'sa' | undefined
}

const LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?'
const SUBDOMAIN = '[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?'

const A_TARGET =
  'expected {namespace}/{application}, {namespace}/gateway/{name} or {namespace}/pod/{name}, each of at most 63 lower-case letters, digits and hyphens'
export const A_CLIENT = A_TARGET.replace(' or ', ', ').replace(', each', ' or {namespace}/sa/{ServiceAccount}, each')

/** The names of destinations, such as `shop/db`, `shop/gateway/db` and `shop/pod/db`. Clients may also have the form `shop/sa/db`. */
export const TargetName = z
  .string(A_TARGET)
  .regex(new RegExp(`^${LABEL}/((gateway/)?${LABEL}|pod/${SUBDOMAIN})$`), A_TARGET)
export const ClientName = z
  .string(A_CLIENT)
  .regex(new RegExp(`^${LABEL}/((gateway/)?${LABEL}|(pod|sa)/${SUBDOMAIN})$`), A_CLIENT)

/** Names a side, such as `shop/db`, `shop/gateway/db` or `shop/pod/db`. */
export const sideName = ({ kind, ...subject }: Side): string => {
  const { namespace, application } = subject
  return kind === undefined || kind === 'application' ? subjectName(subject) : `${namespace}/${kind}/${application}`
}

/** Parses the name of a side. */
export const parseSide = (text: string): Side => {
  const [namespace = '', kind = '', application] = text.split('/')
  return application === undefined
    ? { namespace, application: kind }
    : { namespace, kind: kind as Side['kind'], application }
}

/** Reports that no pods of a side exist. */
export const nothingRuns = ({ kind, namespace, application }: Side): string => {
  const name = `${namespace}/${application}`
  if (kind === 'pod') return `there is no pod ${name} that no StatefulSet and no Deployment has`
  if (kind === 'gateway') return `there is no Gateway ${name} that takes traffic from outside`
  return `there is neither a StatefulSet nor a Deployment nor a Gateway ${name}`
}

/** Names a side within its namespace. */
export const nearName = (side: Side): string => sideName(side).slice(side.namespace.length + 1)
