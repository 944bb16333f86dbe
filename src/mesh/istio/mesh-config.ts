import * as z from 'zod'
import { perObject } from '../../platform/base/per-object.ts'
import { readText } from '../../platform/base/structured-text.ts'
import { LabelSelector, selects } from '../../platform/kubernetes/label-selector.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import { type IstioVersion, readIstioVersion } from './version.ts'

export const ROOT_NAMESPACE = 'istio-system'

/** The ConfigMap in which istiod is told of the mesh, in the namespace where it runs. */
export const meshConfigReference = (namespace = ROOT_NAMESPACE): Reference => ({
  kind: 'ConfigMap',
  namespace,
  name: 'istio',
})

/** The part of Istio's own config that policies depend on (istio.io/latest/docs/reference/config/istio.mesh.v1alpha1). */
export type IstioMeshConfig = {
  readonly rootNamespace: string
  readonly trustDomain: string
  readonly trustDomainAliases: readonly string[]
  /** Istio looks at the namespaces that one of these selects; at all where there is none. */
  readonly discoverySelectors: readonly LabelSelector[]
  /** As the chart labels the ConfigMap; absent where something else made it. */
  readonly version: IstioVersion | undefined
}

const Fields = z.object({
  rootNamespace: z.string().min(1).optional(),
  trustDomain: z.string().min(1).optional(),
  trustDomainAliases: z.array(z.string()).nullish(),
  discoverySelectors: z.array(LabelSelector).nullish(),
})

/** It grows with its extension providers. */
const LONGEST = 128 * 1024

/** Reads Istio's config from its ConfigMap; undefined where that cannot be read. */
export const readMeshConfig = perObject((object: KubernetesObject): IstioMeshConfig | undefined => {
  const { metadata, data = {} } = object
  const text = readText(data.mesh ?? '', LONGEST)
  const read = 'value' in text ? Fields.safeParse(text.value ?? {}).data : undefined
  return (
    read && {
      rootNamespace: read.rootNamespace ?? metadata.namespace ?? ROOT_NAMESPACE,
      trustDomain: read.trustDomain ?? 'cluster.local',
      trustDomainAliases: read.trustDomainAliases ?? [],
      discoverySelectors: read.discoverySelectors ?? [],
      version: readIstioVersion(object),
    }
  )
})

/** Tells if Istio looks at a namespace with these labels: at what is in another one it does not. */
export const discovers = (
  { discoverySelectors }: Pick<IstioMeshConfig, 'discoverySelectors'>,
  labels: Readonly<Record<string, string>>,
): boolean => discoverySelectors.length === 0 || discoverySelectors.some((selector) => selects(selector, labels))
