import * as z from 'zod'
import { suggestKeys } from '../../platform/base/nearest-name.ts'
import { perObject } from '../../platform/base/per-object.ts'
import { describeProblem } from '../../platform/base/printed.ts'
import type { KubernetesObject, Metadata } from '../../platform/kubernetes/objects.ts'
import { isDryRun } from './dry-run.ts'

const Texts = z.array(z.string()).optional()

/** Matches the client. All given fields must match, each by any of its values. */
export const Source = z.strictObject({
  principals: Texts,
  notPrincipals: Texts,
  requestPrincipals: Texts,
  notRequestPrincipals: Texts,
  namespaces: Texts,
  notNamespaces: Texts,
  ipBlocks: Texts,
  notIpBlocks: Texts,
  remoteIpBlocks: Texts,
  notRemoteIpBlocks: Texts,
  serviceAccounts: Texts,
  notServiceAccounts: Texts,
  trustDomains: Texts,
  notTrustDomains: Texts,
})
export type Source = z.infer<typeof Source>

/** Matches the request. All given fields must match, each by any of its values. */
export const Operation = z.strictObject({
  hosts: Texts,
  notHosts: Texts,
  ports: Texts,
  notPorts: Texts,
  methods: Texts,
  notMethods: Texts,
  paths: Texts,
  notPaths: Texts,
})
export type Operation = z.infer<typeof Operation>
export type OperationField = Exclude<keyof Operation, `not${string}`>

/** Returns the field that excludes values of `field`, such as `notMethods` for `methods`. */
export const negated = (field: OperationField): keyof Operation =>
  `not${field.charAt(0).toUpperCase()}${field.slice(1)}` as `not${Capitalize<OperationField>}`

export const Condition = z.strictObject({ key: z.string(), values: Texts, notValues: Texts })
export type Condition = z.infer<typeof Condition>

/** Matches if one of `from`, one of `to` and all of `when` match. An absent part matches. */
export const Rule = z.strictObject({
  from: z.array(z.strictObject({ source: Source.optional() })).optional(),
  to: z.array(z.strictObject({ operation: Operation.optional() })).optional(),
  when: z.array(Condition).optional(),
})
export type Rule = z.infer<typeof Rule>

export const TargetRef = z.strictObject({
  group: z.string().optional(),
  kind: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
})
export type TargetRef = z.infer<typeof TargetRef>

/** https://istio.io/latest/docs/reference/config/security/authorization-policy/ */
export const AuthorizationPolicySpec = z.strictObject({
  selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()).optional() }).optional(),
  targetRef: TargetRef.optional(),
  targetRefs: z.array(TargetRef).optional(),
  action: z.enum(['ALLOW', 'DENY', 'AUDIT', 'CUSTOM']).optional(),
  provider: z.strictObject({ name: z.string().optional() }).optional(),
  rules: z.array(Rule).optional(),
})
export type AuthorizationPolicySpec = z.infer<typeof AuthorizationPolicySpec>

export type AuthorizationPolicy = KubernetesObject & {
  metadata: Metadata & { namespace: string }
  spec: AuthorizationPolicySpec
}

/** The spec of a live policy, which nothing has checked. */
export const specOf = ({ spec }: KubernetesObject): AuthorizationPolicySpec => spec ?? {}

type Content = { metadata: AuthorizationPolicy['metadata']; spec: AuthorizationPolicySpec }

export const authorizationPolicy = ({ metadata, spec }: Content): AuthorizationPolicy => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata,
  spec,
})

/**
 * Tells if the policy denies requests of all clients: DENY, CUSTOM, or an ALLOW without rules. A guard of a Service or of pods does not count, because it
 * denies nothing to those granted there, and is applied before enrolment. A dry run denies nothing.
 */
export const isDenying = (object: KubernetesObject): boolean => {
  const { action = 'ALLOW', rules = [], selector, targetRefs = [] } = specOf(object)
  if (object.kind !== 'AuthorizationPolicy' || isDryRun(object)) return false
  const isGuard = selector !== undefined || (targetRefs.length > 0 && targetRefs.every((one) => one.kind === 'Service'))
  return action === 'DENY' || action === 'CUSTOM' || (rules.length === 0 && !isGuard)
}

/** Tells if the ztunnel of pods enforces the policy, rather than a proxy named by a target reference. */
export const isForPods = ({ targetRef, targetRefs = [] }: AuthorizationPolicySpec): boolean =>
  targetRef === undefined && targetRefs.length === 0

/** The target references of a policy, of either form. */
export const targetsOf = ({
  targetRefs = [],
  targetRef,
}: Pick<AuthorizationPolicySpec, 'targetRef' | 'targetRefs'>): TargetRef[] =>
  targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs

/** Tells if istiod attaches the policy to no pods. It does so for a selector without matchLabels. */
export const isForNoPods = ({ selector }: Pick<AuthorizationPolicySpec, 'selector'>): boolean =>
  selector !== undefined && selector.matchLabels === undefined

/** The target of a policy: the pods of a selector or of its namespace, or its target references. */
const Attachment = AuthorizationPolicySpec.pick({ selector: true, targetRef: true, targetRefs: true })
export type Attachment = z.infer<typeof Attachment>

/** A policy whose spec cannot be read, or that Istio has not taken yet, so that proxies may enforce an older one. */
export type UnreadablePolicy = {
  /** The policy, and the reason. */
  readonly unreadable: string
  readonly isUntaken?: true
  readonly namespace: string
  readonly name: string
  /** Absent if it cannot be read either. */
  readonly attachment?: Attachment
}

/** Parses a policy. An unknown field makes it unreadable, because a rule without that field might match more. */
export const readAuthorizationPolicy = perObject(
  ({ metadata, spec: given }: KubernetesObject): { policy: AuthorizationPolicy } | UnreadablePolicy => {
    const { namespace = '', name } = metadata
    // null counts as absent
    const spec = given ?? {}
    const read = AuthorizationPolicySpec.safeParse(spec, { error: suggestKeys })
    if (read.success) return { policy: authorizationPolicy({ metadata: { ...metadata, namespace }, spec: read.data }) }
    const { action: _, provider: __, rules: ___, ...attachment } = spec
    const where = Attachment.safeParse(attachment)
    return {
      unreadable: describeProblem(read.error, spec, `AuthorizationPolicy ${namespace}/${name}: spec`),
      namespace,
      name,
      ...(where.success && { attachment: where.data }),
    }
  },
)
