import { ownValue } from '../../platform/base/own-value.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import type { MeshPolicy } from './models.ts'

/** The target of one policy: a Service, or the pods of a selector. */
export type PolicyTarget = {
  readonly namespace: string
  /** The readable part of the object's name. It need not be unique. */
  readonly title: string
  readonly spec:
    | { readonly targetRefs: { group: string; kind: string; name: string }[] }
    | { readonly selector: { matchLabels: Record<string, string> } }
}

/** Finds the target of `policy`. Undefined if it has none, because such an object would apply to its whole namespace. */
export const findTarget = (policy: MeshPolicy): PolicyTarget | undefined =>
  policy.target_type === 'app' ? serviceTarget(policy) : podsTarget(policy)

/** Builds the target of an application's pods. */
export const applicationPods = (namespace: string, application: string): PolicyTarget => ({
  namespace,
  title: application,
  spec: { selector: { matchLabels: { [NAME_LABEL]: application } } },
})

/** Builds the target of a named Service. */
export const namedService = (namespace: string, name: string): PolicyTarget => ({
  namespace,
  title: name,
  spec: { targetRefs: [{ group: '', kind: 'Service', name }] },
})

/** Computes a key that is equal only for equal targets. */
export const targetKey = ({ namespace, spec }: PolicyTarget): string => JSON.stringify([namespace, spec])

const serviceTarget = ({ target_namespace, target_service, target_app_name }: MeshPolicy): PolicyTarget | undefined => {
  const name = target_service || target_app_name
  return name ? namedService(target_namespace, name) : undefined
}

const podsTarget = ({
  target_namespace,
  target_app_name,
  target_selector_labels,
}: MeshPolicy): PolicyTarget | undefined => {
  const labels = Object.entries(target_app_name ? { [NAME_LABEL]: target_app_name } : (target_selector_labels ?? {}))
  if (labels.length === 0) return undefined
  const matchLabels = Object.fromEntries(labels.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return {
    namespace: target_namespace,
    title: ownValue(matchLabels, NAME_LABEL) ?? 'selector',
    spec: { selector: { matchLabels } },
  }
}
