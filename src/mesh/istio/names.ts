import {
  ENROLMENT_LABEL,
  USE_WAYPOINT_LABEL,
  USE_WAYPOINT_NAMESPACE_LABEL,
} from '../../core/relations/enrolment-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { charmKubernetesLabel } from '../../platform/kubernetes/label-values.ts'

type Owner = { readonly model: string; readonly application: string }

/** The label by which telemetry of `application` is collected. Its whole key, prefix and all, has at most 63 characters. */
export const telemetryLabels = (application: string, model: string): Record<string, string> => ({
  [charmKubernetesLabel({ model, application, prefix: 'charms.canonical.com/', suffix: '.telemetry' })]: 'aggregated',
})

export const WAYPOINT_SUFFIX = '-waypoint'

/** The name of the waypoint that the beacon `application` runs in `model`. */
export const waypointName = (model: string, application: string): string =>
  charmKubernetesLabel({ model, application, suffix: WAYPOINT_SUFFIX, separator: '-' })

/** `{model}.{application}` as the value of a label: who manages the mesh's labels on a namespace. */
export const applicationIdentity = ({ model, application }: Owner): string =>
  charmKubernetesLabel({ model, application })

type Labels = Readonly<Record<string, string>>

/** The waypoint that labels name, or with `label` its canary: in `namespace`, the own one, unless they say another. Undefined where they name none. */
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

/** The ServiceAccount that a Gateway's proxy runs as: `usual`, unless the Gateway names another. */
export const gatewayAccount = (annotations: Labels | undefined, usual: string): string =>
  ownValue(annotations, 'gateway.istio.io/service-account') ?? usual

/** The labels that put pods and Services on the mesh, behind the waypoint of the beacon `application` in `model`. */
export const meshLabels = ({ model, application }: Owner): Record<string, string> => ({
  [ENROLMENT_LABEL]: 'ambient',
  [USE_WAYPOINT_LABEL]: waypointName(model, application),
  [USE_WAYPOINT_NAMESPACE_LABEL]: model,
})

/** A workload's identity in the mesh, as an AuthorizationPolicy names it. */
export const principal = (identity: { trustDomain: string; namespace: string; serviceAccount: string }): string =>
  `${identity.trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`

/** Reads the principal of one account; its trust domain may be a pattern. Undefined for a pattern of accounts. */
export const accountOf = (
  text: string,
): { trustDomain: string; namespace: string; serviceAccount: string } | undefined => {
  const [, trustDomain, namespace, serviceAccount] = /^([^/]+)\/ns\/([^/*]+)\/sa\/([^/*]+)$/.exec(text) ?? []
  return trustDomain !== undefined && namespace !== undefined && serviceAccount !== undefined
    ? { trustDomain, namespace, serviceAccount }
    : undefined
}
