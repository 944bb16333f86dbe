import type { Config } from '../../core/state/config.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { meshConfigReference, ROOT_NAMESPACE, readMeshConfig } from '../../mesh/istio/mesh-config.ts'
import type { RawPolicy } from '../../mesh/istio/raw-policies.ts'
import { joinOr } from '../../platform/base/printed.ts'
import type { Wait } from '../../platform/base/wait.ts'
import { findLookup, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { nameOf, type Reference } from '../../platform/kubernetes/objects.ts'

/** Lists Istio's own config, if it matters. It names the only namespace in which hardened mode and policies for all waypoints have an effect. */
export const rootLookups = ({ mesh, rawPolicies = [] }: Config): Reference[] =>
  mesh?.hardened === true || rawPolicies.some(isForAllWaypoints) ? meshConfigs(mesh) : []

const meshConfigs = ({ rootNamespace = ROOT_NAMESPACE }: MeshConfig = {}): Reference[] =>
  [...new Set([rootNamespace, ROOT_NAMESPACE])].map(meshConfigReference)

const isForAllWaypoints = ({ spec: { targetRef, targetRefs = [] } = {} }: RawPolicy): boolean =>
  [...targetRefs, ...(targetRef ? [targetRef] : [])].some(({ kind }) => kind === 'GatewayClass')

/** Lists the root namespaces in Istio's own config. If that is unreadable, it is the one in the application's config. */
export const rootNamespaces = ({ mesh }: Config, lookups: Lookups): string[] => {
  const roots = knownRoots(mesh, lookups)
  return roots.length > 0 ? roots : [mesh?.rootNamespace ?? ROOT_NAMESPACE]
}

const knownRoots = (mesh: MeshConfig | undefined, lookups: Lookups): string[] => {
  const found = meshConfigs(mesh).flatMap((reference) => findLookup(lookups, nameOf(reference)) ?? [])
  return found.flatMap((object) => readMeshConfig(object)?.rootNamespace ?? [])
}

/** Returns the reason why hardened mode has no effect, if Istio's own config shows it. */
export const rootProblems = (mesh: MeshConfig, lookups: Lookups): Wait[] => {
  const { hardened, rootNamespace = ROOT_NAMESPACE } = mesh
  const roots = knownRoots(mesh, lookups)
  if (hardened !== true || roots.length === 0 || roots.includes(rootNamespace)) return []
  const message = `the mesh is not hardened: Istio's root namespace is ${joinOr(roots)}, and rootNamespace is ${rootNamespace}`
  return [{ held: 'hardened mode', for: ['rootNamespace in the config'], message }]
}
