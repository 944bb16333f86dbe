import * as z from 'zod'
import { ownValue } from '../../platform/base/own-value.ts'
import { perObject } from '../../platform/base/per-object.ts'
import { joinOr } from '../../platform/base/printed.ts'
import { readText } from '../../platform/base/structured-text.ts'
import { LabelSelector, selects } from '../../platform/kubernetes/label-selector.ts'
import { findLookup, isUnreadable, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { type IstioVersion, readIstioVersion } from './version.ts'

/** The root namespace unless Istio's own config names another one, and the usual namespace of istiod. */
export const ROOT_NAMESPACE = 'istio-system'

/** Of whom the istiod is asked for: of a namespace, or of a Gateway there, whose own label wins. */
export type MeshMember = { readonly namespace: string; readonly gateway?: string | undefined }

/** The namespaces where an istiod may be: that which somebody named as the root namespace, and the usual one. */
export const istiodHomes = (root: string | undefined): string[] => [
  ...new Set([root ?? ROOT_NAMESPACE, ROOT_NAMESPACE]),
]

/** Names the objects that lead to the config of a member's istiod. They name further ones once these are read. */
export const meshConfigLookups = (member: MeshMember, homes: readonly string[], seen: Lookups): Reference[] => {
  const { holders, tags, configs } = pathTo(member, homes, seen)
  return [...holders, ...tags, ...configs]
}

/** The ConfigMaps with the config of all members' istiods, and the reason if one of them is not known. */
export type FoundMeshConfigs = { readonly configs: readonly KubernetesObject[]; readonly unknown?: string | undefined }

/** Finds Istio's own config by objects that {@link meshConfigLookups} names. */
export const findMeshConfigs = (
  members: readonly MeshMember[],
  homes: readonly string[],
  seen: Lookups,
): FoundMeshConfigs => {
  const found = members.map((member) => {
    const { holders, tags, configs } = pathTo(member, homes, seen)
    const objects = configs.flatMap((one) => findLookup(seen, nameOf(one)) ?? []).filter(isReadable)
    return {
      objects,
      unknown: unreadable(holders, seen) ?? (objects.length > 0 ? undefined : lacking(tags, configs, seen)),
    }
  })
  return {
    configs: [...new Set(found.flatMap(({ objects }) => objects))],
    unknown: found.map(({ unknown }) => unknown).find((one) => one !== undefined),
  }
}

const isReadable = (object: KubernetesObject): boolean => readMeshConfig(object) !== undefined

const unreadable = (references: readonly Reference[], seen: Lookups): string | undefined => {
  const [first] = references.map(nameOf).filter((name) => isUnreadable(seen, name))
  return first === undefined ? undefined : `${first} may not be read`
}

const lacking = (tags: readonly Reference[], configs: readonly Reference[], seen: Lookups): string =>
  [unreadable(configs, seen) ?? `there is no readable ${joinOr(configs.map(nameOf))}`, unreadable(tags, seen)]
    .filter((one) => one !== undefined)
    .join(', and ')

/** The label by which a namespace or a Gateway chooses its istiod: by a revision, or by a tag of one. */
const REVISION = 'istio.io/rev'

/** The revision of an istiod that was installed without one, and the tag of those who choose none. */
const DEFAULT = 'default'

/**
 * Follows the labels as istiod does (pkg/revisions/tag_watcher.go), as far as they are read. A tag is a webhook that names its revision. Without the right to
 * read webhooks a tag counts as a revision: then it has no config, because no tag has the name of a revision.
 */
const pathTo = ({ namespace, gateway }: MeshMember, homes: readonly string[], seen: Lookups) => {
  const holders: Reference[] = [
    ...(gateway === undefined ? [] : [{ kind: 'Gateway', namespace, name: gateway } as const]),
    { kind: 'Namespace', name: namespace },
  ]
  const chosen = firstLabel(holders, seen) || DEFAULT
  const tags = homes.map(
    (home): Reference => ({
      kind: 'MutatingWebhookConfiguration',
      name: `istio-revision-tag-${chosen}${home === ROOT_NAMESPACE ? '' : `-${home}`}`,
    }),
  )
  const revision = firstLabel(tags, seen) || chosen
  const name = revision === DEFAULT ? 'istio' : `istio-${revision}`
  return { holders, tags, configs: homes.map((home): Reference => ({ kind: 'ConfigMap', namespace: home, name })) }
}

const firstLabel = (references: readonly Reference[], seen: Lookups): string | undefined =>
  references
    .map((one) => ownValue(findLookup(seen, nameOf(one))?.metadata.labels, REVISION))
    .find((label) => label !== undefined)

/** Tells if an object may be the config of an istiod. */
export const isMeshConfig = ({ kind, metadata: { name } }: KubernetesObject): boolean =>
  kind === 'ConfigMap' && /^istio(-|$)/.test(name)

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
