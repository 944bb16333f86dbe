import type { ClusterView, Environment, Related } from '../../core/feature/feature.ts'
import { relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { findLookup } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { isOver } from '../../platform/kubernetes/pods.ts'
import { endpointNames } from './settings.ts'

/** The annotation of the coordinator's pods with the hash of the nginx.conf that they loaded. */
export const NGINX_HASH = 'meshstep.dev/nginx-hash'

/** The input of a coordinator besides its relations. */
export type Surroundings = Environment & {
  /** Juju's id of the namespace. Juju calls a namespace a model. */
  readonly modelUuid?: string | undefined
  /** The hash of each pod's nginx.conf. Undefined if pods were not listed. */
  readonly nginxHashes?: readonly (string | undefined)[] | undefined
}

type Cluster = Pick<EffectiveState, 'config' | 'relations'>

/** Tells if scrapers or log backends need the id of the namespace. */
const isPublishingModel = ({ config, relations }: Cluster): boolean => {
  if (!config?.coordinator || config.coordinator.modelUuid !== undefined) return false
  const { metrics, logging } = endpointNames(config.coordinator)
  return [
    ...relationsWith(relations, { role: 'provides', endpoint: metrics }),
    ...relationsWith(relations, { role: 'requires', endpoint: logging }),
  ].some(() => true)
}

/** Lists the foreign objects that a coordinator reads. */
export const clusterLookups = ({ namespace }: Subject, state: Cluster): Reference[] =>
  isPublishingModel(state) ? [{ kind: 'Namespace', name: namespace }] : []

/** Tells if the application's published data depend on its pods. */
export const isPublishingUnits = ({ config, relations }: Related): boolean =>
  config?.worker !== undefined ||
  (config?.coordinator !== undefined &&
    relationsWith(relations, { role: 'provides', endpoint: endpointNames(config.coordinator).metrics }).length > 0)

/** Adds the observed surroundings of the application to the environment. */
export const findSurroundings = (
  environment: Environment,
  { namespace }: Subject,
  { config }: Pick<EffectiveState, 'config'>,
  { lookups, pods }: ClusterView,
): Surroundings => {
  // an annotation does not restart pods that are labelled in place
  const isReloading = config?.coordinator?.reload === true && config.enrolment !== 'in-place'
  return {
    ...environment,
    modelUuid: findModelUuid(findLookup(lookups, nameOf({ kind: 'Namespace', name: namespace }))),
    nginxHashes: isReloading
      ? pods?.filter((pod) => !isOver(pod)).map(({ metadata }) => ownValue(metadata.annotations, NGINX_HASH))
      : undefined,
  }
}

/** Finds the model's UUID. Juju writes it on the namespace. */
const findModelUuid = (namespace: KubernetesObject | undefined): string | undefined => {
  const { annotations, labels, uid } = namespace?.metadata ?? {}
  return ownValue(annotations, 'model.juju.is/id') ?? ownValue(labels, 'model.juju.is/id') ?? uid
}
