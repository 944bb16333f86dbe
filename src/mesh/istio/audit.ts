import { parseRequesters } from '../../core/policies/requested-by.ts'
import { joinAnd } from '../../platform/base/printed.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type AuthorizationPolicySpec, isForPods } from './authorization-policy.ts'
import { DRY_RUN } from './dry-run.ts'

/** The objects to apply in audit mode, and messages about objects that are left out, and about requests that nobody sees. */
export type AuditResult = { readonly objects: readonly KubernetesObject[]; readonly messages: readonly string[] }

/**
 * Turns the policies of audited requesters into dry runs, which waypoints and gateways only log. Ztunnels and external authorizers support no dry run, so
 * such policies are left out. A policy with another requester stays enforced.
 */
export const auditPolicies = (
  objects: readonly KubernetesObject[],
  requesters: 'all' | readonly string[],
): AuditResult => {
  const isAudited = (object: KubernetesObject) => {
    if (object.kind !== 'AuthorizationPolicy') return false
    if (requesters === 'all') return true
    const asked = parseRequesters(object)
    return asked.length > 0 && asked.every((name) => requesters.includes(name))
  }
  const audited = new Set(objects.filter(isAudited))
  const out = new Set([...audited].filter((object) => !hasDryRun(object)))
  const written = [...audited].filter((object) => !out.has(object) && !isAuditing(object))
  return {
    objects: objects
      .filter((object) => !out.has(object))
      .map((object) => (audited.has(object) && !isAuditing(object) ? dryRun(object) : object)),
    messages: [...(out.size === 0 ? [] : [leftOut([...out])]), ...(written.length === 0 ? [] : [UNSEEN])],
  }
}

const specOf = ({ spec = {} }: KubernetesObject): AuthorizationPolicySpec => spec

/** Tells if the policy's action is AUDIT, which decides nothing. */
const isAuditing = (object: KubernetesObject): boolean => specOf(object).action === 'AUDIT'

const hasDryRun = (object: KubernetesObject): boolean =>
  isAuditing(object) || (!isForPods(specOf(object)) && specOf(object).action !== 'CUSTOM')

const dryRun = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [DRY_RUN]: 'true' } },
})

const leftOut = (objects: readonly KubernetesObject[]): string => {
  const names = objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)
  return `enforcement is audit: these policies are left out, because ztunnels and external authorizers support no dry run: ${joinAnd(names)}`
}

const UNSEEN =
  'enforcement is audit: requests that its dry runs would refuse are not shown here: waypoints count them, and meshstep traffic shows them where a Prometheus is known'
