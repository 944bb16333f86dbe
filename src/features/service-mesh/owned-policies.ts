import type { ClusterView } from '../../core/feature/feature.ts'
import { parseRequesters } from '../../core/policies/requested-by.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** Lists the policies in the cluster that the application may own. */
export const policiesIn = (owned: ClusterView['owned']): readonly KubernetesObject[] =>
  owned.flatMap(({ kind, live = [] }) => (kind === 'AuthorizationPolicy' ? live : []))

/** Lists the requesters on the application's live policies. */
export const requestersOn = (
  owned: ClusterView['owned'],
  isMeant: (policy: KubernetesObject) => boolean = () => true,
): string[] => [...new Set(policiesIn(owned).filter(isMeant).flatMap(parseRequesters))]
