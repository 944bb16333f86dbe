import type { Config } from '../../core/state/config.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import {
  findMeshConfigs,
  istiodHomes,
  meshConfigLookups,
  ROOT_NAMESPACE,
  readMeshConfig,
} from '../../mesh/istio/mesh-config.ts'
import type { RawPolicy } from '../../mesh/istio/raw-policies.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { joinOr } from '../../platform/base/printed.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'

/** Lists what leads to Istio's own config, if that matters. It names the only namespace in which hardened mode and policies for all waypoints have an effect. */
export const rootLookups = ({ namespace }: Subject, { mesh, rawPolicies = [] }: Config, seen: Lookups): Reference[] =>
  mesh?.hardened === true || rawPolicies.some(isForAllWaypoints)
    ? meshConfigLookups({ namespace }, istiodHomes(mesh?.rootNamespace), seen)
    : []

const isForAllWaypoints = ({ spec: { targetRef, targetRefs = [] } = {} }: RawPolicy): boolean =>
  [...targetRefs, ...(targetRef ? [targetRef] : [])].some(({ kind }) => kind === 'GatewayClass')

/** Lists the root namespaces in Istio's own config, else the one in the application's config. Undefined if nobody knows it. */
export const rootNamespaces = (subject: Subject, { mesh }: Config, lookups: Lookups): string[] | undefined => {
  const { roots } = findRoots(subject, mesh?.rootNamespace, lookups)
  if (roots.length > 0) return roots
  return mesh?.rootNamespace === undefined ? undefined : [mesh.rootNamespace]
}

const findRoots = ({ namespace }: Subject, said: string | undefined, lookups: Lookups) => {
  const { configs, unknown } = findMeshConfigs([{ namespace }], istiodHomes(said), lookups)
  return { roots: configs.flatMap((object) => readMeshConfig(object)?.rootNamespace ?? []), unknown }
}

/** Returns the reason why hardened mode has no effect, if Istio's own config shows it. */
export const rootProblems = (
  subject: Subject,
  { hardened, rootNamespace = ROOT_NAMESPACE }: MeshConfig,
  lookups: Lookups,
): Condition[] => {
  const { roots } = findRoots(subject, rootNamespace, lookups)
  if (hardened !== true || roots.length === 0 || roots.includes(rootNamespace)) return []
  const message = `the mesh is not hardened: Istio's root namespace is ${joinOr(roots)}, and rootNamespace is ${rootNamespace}`
  return [waitFor(['rootNamespace in the config'], 'RootNamespaceWrong', 'hardened mode', message)]
}

/** Says that nobody knows whether hardened mode has an effect, if Istio's own config is not found. */
export const unknownRoot = (subject: Subject, { hardened, rootNamespace }: MeshConfig, lookups: Lookups): string[] => {
  const { unknown } = findRoots(subject, rootNamespace, lookups)
  return hardened === true && unknown !== undefined
    ? [`whether the mesh is hardened is not known, because Istio's own config is not: ${unknown}`]
    : []
}
