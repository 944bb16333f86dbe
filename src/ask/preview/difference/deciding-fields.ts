import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { type PodLike, podTemplate } from '../../../platform/kubernetes/pod-like.ts'

/** Reduces an object to the fields that results depend on, because thousands are held in memory at once. */
export const decidingFields = (object: KubernetesObject): KubernetesObject => {
  const { apiVersion, kind, metadata, spec, status, data } = object
  const { managedFields: _, ...kept } = metadata
  const plain = { apiVersion, kind, metadata: kept }
  switch (kind) {
    // the status and managedFields of a policy are kept for the report of pending policies
    case 'AuthorizationPolicy':
      return object
    case 'Pod':
      return { ...plain, ...decidingPod(object) }
    case 'StatefulSet':
    case 'Deployment': {
      const template = podTemplate(object)
      return {
        ...plain,
        spec: {
          selector: spec?.selector,
          template: { metadata: template.metadata, spec: decidingSpec(template.spec) },
        },
      }
    }
    case 'Gateway':
      return { ...plain, ...(spec && { spec }), status }
    default:
      return { ...plain, ...(spec && { spec }), ...(data && { data }) }
  }
}

type Fields = Record<string, unknown>

const decidingPod = ({ spec, status }: PodLike) => ({ spec: decidingSpec(spec), status: { phase: status?.phase } })

const decidingSpec = ({
  serviceAccountName,
  hostNetwork,
  containers,
  initContainers,
}: PodLike['spec'] = {}): Fields => ({
  ...(serviceAccountName !== undefined && { serviceAccountName }),
  ...(hostNetwork !== undefined && { hostNetwork }),
  ...(Array.isArray(containers) && { containers: containers.map(decidingContainer) }),
  ...(Array.isArray(initContainers) && { initContainers: initContainers.map(decidingContainer) }),
})

const decidingContainer = ({ name, ports }: Fields): Fields => ({ name, ...(ports !== undefined && { ports }) })

/** Serializes the fields that results depend on. Two objects with the same text decide alike. */
export const decidingText = ({ metadata, spec, data, kind, status }: KubernetesObject): string =>
  JSON.stringify([
    metadata.labels,
    metadata.annotations,
    metadata.ownerReferences,
    metadata.deletionTimestamp,
    spec,
    data,
    kind === 'AuthorizationPolicy' ? undefined : status,
  ])
