import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'

/** An object as far as answers about requests depend on it: thousands are held at once. */
export const decidingFields = (object: KubernetesObject): KubernetesObject => {
  const { apiVersion, kind, metadata, spec, status, data } = object
  const { managedFields: _, ...kept } = metadata
  const plain = { apiVersion, kind, metadata: kept }
  switch (kind) {
    // what Istio says of a policy, and when it was written, is told
    case 'AuthorizationPolicy':
      return object
    case 'Pod':
      return {
        ...plain,
        spec: decidingSpec(spec),
        status: { phase: (status as { phase?: string } | undefined)?.phase },
      }
    case 'StatefulSet':
    case 'Deployment': {
      const template = (spec?.template ?? {}) as { metadata?: object; spec?: Fields }
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

const decidingSpec = ({ serviceAccountName, hostNetwork, containers, initContainers }: Fields = {}): Fields => ({
  ...(serviceAccountName !== undefined && { serviceAccountName }),
  ...(hostNetwork !== undefined && { hostNetwork }),
  ...(Array.isArray(containers) && { containers: containers.map(decidingContainer) }),
  ...(Array.isArray(initContainers) && { initContainers: initContainers.map(decidingContainer) }),
})

const decidingContainer = ({ name, ports }: Fields): Fields => ({ name, ...(ports !== undefined && { ports }) })

/** The parts of an object that answers may depend on, as text: two objects of one text decide alike. */
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
