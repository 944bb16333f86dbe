import { createHash } from 'node:crypto'

type Owner = { readonly model: string; readonly application: string }

type LabelParts = Owner & {
  readonly prefix?: string
  readonly suffix?: string
  readonly maximumLength?: number
  /** The length counts it as one character. */
  readonly separator?: string
}

const HASH_LENGTH = 6

/**
 * `{prefix}{model}{separator}{application}{suffix}` where it fits. Where it does not, model and application are cut in proportion and a
 * hash of both goes before the suffix: the charm library's `charm_kubernetes_label`, character for character. Throws when nothing would
 * be left of them.
 */
export const charmKubernetesLabel = ({
  model,
  application,
  prefix = '',
  suffix = '',
  maximumLength = 63,
  separator = '.',
}: LabelParts): string => {
  if (model === '' || application === '')
    throw new RangeError('Both model_name and app_name must be at least 1 character long.')
  const name = `${model}${separator}${application}`
  if (prefix.length + name.length + suffix.length <= maximumLength) return `${prefix}${name}${suffix}`

  const fixed = prefix.length + suffix.length + HASH_LENGTH + 2
  if (fixed + 2 > maximumLength)
    throw new RangeError(
      `Fixed label portion (prefix, suffix, hash, and separator) is too long (${fixed} chars); must leave at least 1 character each for model_name and app_name to fit within the ${maximumLength} character limit.`,
    )
  const available = maximumLength - fixed
  const modelLength = Math.max(1, Math.floor((available * model.length) / (model.length + application.length)))
  const parts = [
    model.slice(0, modelLength),
    application.slice(0, available - modelLength),
    digest('sha1', name, HASH_LENGTH),
  ]
  return `${prefix}${parts.join(separator)}${suffix}`
}

/** The value of a label where it fits into 63 characters, else 54 of them, a hyphen and a hash: as coordinated workers cut it. */
export const truncateLabelValue = (value: string): string =>
  value.length <= 63 ? value : `${value.slice(0, 54)}-${digest('sha256', value, 8)}`

const digest = (algorithm: 'sha1' | 'sha256', text: string, length: number): string =>
  createHash(algorithm).update(text).digest('hex').slice(0, length)

/** The label by which telemetry of `application` is collected. Its whole key, prefix and all, has at most 63 characters. */
export const telemetryLabels = (application: string, model: string): Record<string, string> => ({
  [charmKubernetesLabel({ model, application, prefix: 'charms.canonical.com/', suffix: '.telemetry' })]: 'aggregated',
})

/** The name of the waypoint that the beacon `application` runs in `model`. */
export const waypointName = (model: string, application: string): string =>
  charmKubernetesLabel({ model, application, suffix: '-waypoint', separator: '-' })

/** `{model}.{application}` as the value of a label: who manages the mesh's labels on a namespace. */
export const applicationIdentity = ({ model, application }: Owner): string =>
  charmKubernetesLabel({ model, application })

/** Enrols a pod or a namespace in the mesh (istio.io/latest/docs/ambient/usage/add-workloads). */
export const ENROLMENT_LABEL = 'istio.io/dataplane-mode'

/** The labels that put pods and Services on the mesh, behind the waypoint of the beacon `application` in `model`. */
export const meshLabels = ({ model, application }: Owner): Record<string, string> => ({
  [ENROLMENT_LABEL]: 'ambient',
  'istio.io/use-waypoint': waypointName(model, application),
  'istio.io/use-waypoint-namespace': model,
})

/** A workload's identity in the mesh, as an AuthorizationPolicy names it. */
export const principal = (identity: { trustDomain: string; namespace: string; serviceAccount: string }): string =>
  `${identity.trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`
