import { at } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { Environment, Seen } from '../feature/feature.ts'
import { requestersOf } from '../istio/requested-by.ts'
import { lookupAt } from '../kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../kubernetes/objects.ts'
import { relationsWith } from '../relations/select.ts'
import type { EffectiveState } from '../state/state.ts'
import { endpointsOf } from './settings.ts'

/** The annotation of the coordinator's pods that tells which nginx file they started with: a hash of it. */
export const NGINX_HASH = 'meshstep.dev/nginx-hash'

/** What a coordinator looks at besides its relations. */
export type Surroundings = Environment & {
  /** The id of the model, which is the namespace. */
  readonly modelUuid?: string | undefined
  /** Of each of its pods the nginx file that it started with; undefined where nobody looked. */
  readonly nginxHashes?: readonly (string | undefined)[] | undefined
  /** Who asked for the policies of its own that stand; undefined where nobody looked. */
  readonly granted?: ReadonlySet<string> | undefined
}

type Cluster = Pick<EffectiveState, 'config' | 'relations'>

/** Whoever scrapes or takes logs is told the id of the model. */
const isTellingModel = ({ config, relations }: Cluster): boolean => {
  if (!config?.coordinator || config.coordinator.modelUuid !== undefined) return false
  const { metrics, logging } = endpointsOf(config.coordinator)
  return [
    ...relationsWith(relations, { role: 'provides', endpoint: metrics }),
    ...relationsWith(relations, { role: 'requires', endpoint: logging }),
  ].some(() => true)
}

/** The objects of others that a coordinator looks up. */
export const clusterLookups = ({ namespace }: Subject, state: Cluster): Reference[] =>
  isTellingModel(state) ? [{ kind: 'Namespace', name: namespace }] : []

/** Whether what the application says in a cluster follows from its pods. */
export const isSayingUnits = ({ config, relations }: Cluster): boolean =>
  config?.worker !== undefined ||
  (config?.coordinator !== undefined &&
    relationsWith(relations, { role: 'provides', endpoint: endpointsOf(config.coordinator).metrics }).length > 0)

/** The environment with what was seen of the application's own surroundings. */
export const surroundingsOf = (
  environment: Environment,
  { namespace }: Subject,
  { config }: Pick<EffectiveState, 'config'>,
  { lookups, pods, owned }: Seen,
): Surroundings => {
  // pods that are labelled in place are not restarted by an annotation
  const isReloading = config?.coordinator?.reload === true && config.enrolment !== 'in-place'
  const policies = owned.find(({ kind }) => kind === 'AuthorizationPolicy')?.live ?? []
  return {
    ...environment,
    modelUuid: uuidOf(lookupAt(lookups, nameOf({ kind: 'Namespace', name: namespace }))),
    nginxHashes: isReloading
      ? pods?.filter(isServing).map(({ metadata }) => at(metadata.annotations, NGINX_HASH))
      : undefined,
    granted: new Set(policies.flatMap(requestersOf)),
  }
}

/** A pod that was evicted stays as an object, and starts with nothing any more. */
const isServing = ({ status }: KubernetesObject): boolean => {
  const { phase } = (status ?? {}) as { phase?: string }
  return phase !== 'Failed' && phase !== 'Succeeded'
}

/** Juju writes the id of a model on its namespace. */
const uuidOf = (namespace: KubernetesObject | undefined): string | undefined => {
  const { annotations, labels, uid } = namespace?.metadata ?? {}
  return at(annotations, 'model.juju.is/id') ?? at(labels, 'model.juju.is/id') ?? uid
}
