import { gatewayAccount } from '../../mesh/istio/names.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { podTemplate, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import type { Identity } from './evaluate/request-context.ts'

export type Account = Pick<Identity, 'namespace' | 'serviceAccount'>

/** The accounts that a Gateway, a workload or a pod runs as, or may run as. */
export const accountsOf = (object: KubernetesObject): Account[] => {
  const { kind, metadata, spec } = object
  const { namespace = '' } = metadata
  if (kind === 'Gateway') {
    // waypoints run as the first account, other Gateways as the second
    const usual = [metadata.name, `${metadata.name}-${String(spec?.gatewayClassName)}`]
    const names = new Set(usual.map((name) => gatewayAccount(metadata.annotations, name)))
    return [...names].map((serviceAccount) => ({ namespace, serviceAccount }))
  }
  if (kind === 'Pod') return [{ namespace, serviceAccount: serviceAccountName(object) }]
  const isWorkload = kind === 'StatefulSet' || kind === 'Deployment'
  return isWorkload ? [{ namespace, serviceAccount: serviceAccountName(podTemplate(object)) }] : []
}
