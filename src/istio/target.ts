import { at } from '../base/own-value.ts'
import { NAME_LABEL } from '../kubernetes/services.ts'
import type { AuthorizationPolicySpec } from './authorization-policy.ts'
import type { MeshPolicy } from './models.ts'

/** What one AuthorizationPolicy guards: a Service at its waypoint, or the pods that have all of some labels at their ztunnel. */
export type Target = {
  readonly namespace: string
  /** What an object's name says of it, for a person; it need not be distinct. */
  readonly title: string
  readonly spec: Pick<AuthorizationPolicySpec, 'targetRefs'> | Pick<AuthorizationPolicySpec, 'selector'>
}
/** The target of `policy`, or undefined where it names none: an object without a target would hold for its whole namespace. */
export const targetOf = (policy: MeshPolicy): Target | undefined =>
  policy.target_type === 'app' ? serviceTarget(policy) : podsTarget(policy)

/** The pods of an application. */
export const podsOf = (namespace: string, application: string): Target => ({
  namespace,
  title: application,
  spec: { selector: { matchLabels: { [NAME_LABEL]: application } } },
})

/** The Service of a name. */
export const serviceOf = (namespace: string, name: string): Target => ({
  namespace,
  title: name,
  spec: { targetRefs: [{ group: '', kind: 'Service', name }] },
})

/** The same for the same target, and for no other. */
export const targetKey = ({ namespace, spec }: Target): string => JSON.stringify([namespace, spec])

const serviceTarget = ({ target_namespace, target_service, target_app_name }: MeshPolicy): Target | undefined => {
  const name = target_service || target_app_name
  return name ? serviceOf(target_namespace, name) : undefined
}

const podsTarget = ({ target_namespace, target_app_name, target_selector_labels }: MeshPolicy): Target | undefined => {
  const labels = Object.entries(target_app_name ? { [NAME_LABEL]: target_app_name } : (target_selector_labels ?? {}))
  if (labels.length === 0) return undefined
  const matchLabels = Object.fromEntries(labels.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return {
    namespace: target_namespace,
    title: at(matchLabels, NAME_LABEL) ?? 'selector',
    spec: { selector: { matchLabels } },
  }
}
