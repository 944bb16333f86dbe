import * as z from 'zod'
import { perObject } from '../../platform/base/per-object.ts'
import { readText } from '../../platform/base/structured-text.ts'
import { LabelSelector, selects } from '../../platform/kubernetes/label-selector.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import { type IstioVersion, readIstioVersion } from './version.ts'

export const ROOT_NAMESPACE = 'istio-system'

/** Names the ConfigMap with istiod's mesh config, in istiod's namespace. */
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
  /** Istio discovers the namespaces that one of these selects, or all namespaces without a selector. */
  readonly discoverySelectors: readonly LabelSelector[]
  /** The version in the chart's label on the ConfigMap. Absent if the chart did not make it. */
  readonly version: IstioVersion | undefined
}

const Fields = z.object({
  rootNamespace: z.string().min(1).optional(),
  trustDomain: z.string().min(1).optional(),
  trustDomainAliases: z.array(z.string()).nullish(),
  discoverySelectors: z.array(LabelSelector).nullish(),
})

/** The limit of the config. It grows with extension providers. */
const LONGEST = 128 * 1024

/** Reads Istio's config from its ConfigMap. Returns undefined if that cannot be read. */
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

/** Tells if Istio discovers a namespace with these labels. It ignores the objects of others. */
export const discovers = (
  { discoverySelectors }: Pick<IstioMeshConfig, 'discoverySelectors'>,
  labels: Readonly<Record<string, string>>,
): boolean => discoverySelectors.length === 0 || discoverySelectors.some((selector) => selects(selector, labels))
