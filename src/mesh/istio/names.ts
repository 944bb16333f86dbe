import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL } from '../../core/relations/mesh-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { charmKubernetesLabel } from '../../platform/kubernetes/label-values.ts'

type Owner = { readonly model: string; readonly application: string }

/** The label for telemetry collection from `application`. Its whole key, including the prefix, has at most 63 characters. */
export const telemetryLabels = (application: string, model: string): Record<string, string> => ({
  [charmKubernetesLabel({ model, application, prefix: 'charms.canonical.com/', suffix: '.telemetry' })]: 'aggregated',
})

export const WAYPOINT_SUFFIX = '-waypoint'

/** Names the waypoint that the beacon `application` runs in `model`. */
export const waypointName = (model: string, application: string): string =>
  charmKubernetesLabel({ model, application, suffix: WAYPOINT_SUFFIX, separator: '-' })

/** Returns `{model}.{application}` as a label value. It names the manager of a namespace's mesh labels. */
export const applicationIdentity = ({ model, application }: Owner): string =>
  charmKubernetesLabel({ model, application })

type Labels = Readonly<Record<string, string>>

/**
 * Finds the waypoint that labels name, or its canary with the canary's `label`. It is in `namespace`, unless the labels name another one. Returns
 * undefined if the labels name none.
 */
export const namedWaypoint = (
  labels: Labels | undefined,
  namespace: string,
  label = USE_WAYPOINT_LABEL,
): { readonly namespace: string; readonly name: string } | undefined => {
  const name = ownValue(labels, label)
  return name === undefined || name === 'none'
    ? undefined
    : { namespace: ownValue(labels, `${label}-namespace`) ?? namespace, name }
}

/** Returns the ServiceAccount of a Gateway's proxy: `usual`, unless the Gateway names another one. */
export const gatewayAccount = (annotations: Labels | undefined, usual: string): string =>
  ownValue(annotations, 'gateway.istio.io/service-account') ?? usual

/** The labels that put pods and Services on the mesh, behind the waypoint of the beacon `application` in `model`. */
export const meshLabels = ({ model, application }: Owner): Record<string, string> => ({
  [ENROLMENT_LABEL]: 'ambient',
  [USE_WAYPOINT_LABEL]: waypointName(model, application),
  [USE_WAYPOINT_NAMESPACE_LABEL]: model,
})

/** Formats a workload's mesh identity, as in an AuthorizationPolicy. */
export const principal = (identity: { trustDomain: string; namespace: string; serviceAccount: string }): string =>
  `${identity.trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`

/** Parses the principal of one account. Its trust domain may be a pattern. Returns undefined for a pattern of accounts. */
export const accountOf = (
  text: string,
): { trustDomain: string; namespace: string; serviceAccount: string } | undefined => {
  const [, trustDomain, namespace, serviceAccount] = /^([^/]+)\/ns\/([^/*]+)\/sa\/([^/*]+)$/.exec(text) ?? []
  return trustDomain !== undefined && namespace !== undefined && serviceAccount !== undefined
    ? { trustDomain, namespace, serviceAccount }
    : undefined
}
