import pMap from 'p-map'
import type { Subject } from '../../../platform/base/subject.ts'
import { describeRefusal, ifServed, isForbidden } from '../../../platform/kubernetes/api-error.ts'
import { findLabels, type LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { stringsAt } from '../../../platform/kubernetes/field-managers.ts'
import { isSameTarget, type LabelTarget } from '../../../platform/kubernetes/label-target.ts'
import { type Lookups, observeLookups } from '../../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, objectKey, referenceTo } from '../../../platform/kubernetes/objects.ts'
import { fieldManager, isOwnedBy, ownerSelector } from '../../../platform/kubernetes/ownership-labels.ts'
import { isOnHost, podLabels, podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import { isServiceOf } from '../../../platform/kubernetes/services.ts'
import type { Features } from '../../feature/combine.ts'
import type { ClusterView } from '../../feature/feature.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { type OwnedKind, ownedKinds } from '../../state/owned-kinds.ts'
import type { State } from '../../state/state.ts'
import { ownWorkload } from '../../workload/config.ts'
import { managerOf } from '../../workload/objects.ts'
import { readHeld } from '../../workload/pod-labels.ts'
import { secretsKept, storeReference } from '../../workload/secrets.ts'
import type { Desired } from '../decide/desired-state.ts'
import { type Found, observeRunning, type Running } from './units.ts'

/** Lists the places of all existing targets. */
export const placesOf = (found: readonly Found[]): LabelLocation[] => found.flatMap(({ places }) => places ?? [])

export type Targets = {
  readonly current: readonly Found[]
  readonly earlier: readonly Found[]
  readonly library: readonly LabelTarget[]
}

/**
 * The objects of a kind that an application may own. `live` is undefined if the API server does not serve the kind, or refuses to list it.
 */
export type Listed = {
  readonly kind: OwnedKind | 'Secret'
  readonly live: readonly KubernetesObject[] | undefined
  readonly library: readonly KubernetesObject[]
  readonly problem?: string
}

export type Owned = {
  readonly kinds: readonly Listed[]
  readonly namespace?: Read | undefined
  /** The Secret with the secret values of a workload, if there may be one. */
  readonly store?: Read | undefined
}

/** One object that was read by name: undefined if it does not exist, or the problem of reading it. */
export type Read = { readonly object: KubernetesObject | undefined } | { readonly problem: string }

/** The observed part of the cluster. */
export type Observed = {
  readonly lookups: Lookups
  readonly owned: Owned
  readonly targets: Targets
  readonly running: Running
}

/** Observes the parts of the cluster that the state depends on; with `isWhole`, all pods too. Objects that the same client has read are not read again. */
export const observeCluster = async (
  features: Features,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  isWhole: boolean,
): Promise<Observed> => {
  const found = observeTargets(features, kubernetes, subject, state)
  const [lookups, owned, targets, running] = await Promise.all([
    observeLookups(kubernetes, (seen) => features.lookups(subject, resolved, seen)),
    observeOwned(features, kubernetes, subject, state, resolved),
    found,
    found.then(({ current }) => observeRunning(features, kubernetes, subject, state, current[0], isWhole)),
  ])
  return { lookups, owned, targets, running }
}

/** Selects the part of an observation that features see. */
export const seenIn = ({ lookups, running, owned: { kinds } }: Observed): ClusterView => ({
  lookups,
  ...podsSeenIn(running),
  owned: kinds,
})

/** Selects the part of the running application that features see: of the workload only the labels of its template and its network, which seldom change. */
export const podsSeenIn = ({ workload, pods }: Running): Pick<ClusterView, 'template' | 'pods'> => ({
  pods,
  ...(workload && {
    template: {
      of: nameOf({ ...workload.metadata, kind: workload.kind }),
      pod: {
        metadata: { labels: podLabels(podTemplate(workload)) },
        ...(isOnHost(podTemplate(workload)) && { spec: { hostNetwork: true } }),
      },
    },
  }),
})

/** The current labels of a workload, and the keys of those that the application holds there. `own` is undefined without a workload. */
export type WorkloadLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly own: readonly string[] | undefined
}

/** Returns the current labels of the workload. */
export const workloadLabelsIn = (
  { application }: Subject,
  { current: [workload] }: Pick<Targets, 'current'>,
): WorkloadLabels => ({
  labels: Object.assign({}, ...(workload?.places ?? []).map(({ object, path }) => stringsAt(object, path))),
  own: workload?.places?.flatMap((place) => [...readHeld(application, place).holders.own]),
})

/** Tells if a workload or a Service of the application exists, or may exist. */
export const isDeployed = ({ targets }: Observed): boolean =>
  targets.current.some(({ places, problem }) => places !== undefined || problem !== undefined)

/** Finds the current targets, the former ones, and those that the charm library labels. */
export const observeTargets = async (
  features: Features,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
): Promise<Targets> => {
  const find = async (target: LabelTarget): Promise<Found> => {
    const places = await unlessForbidden(findLabels(kubernetes, subject.namespace, target, state.workloadKind))
    return 'problem' in places ? { target, places: undefined, ...places } : { target, places: places.value }
  }
  const findCurrent = async (target: LabelTarget): Promise<Found> => {
    const found = await find(target)
    const isForeign =
      isNamed(features, subject, state, target) && !found.places?.every(({ object }) => isServiceOf(subject, object))
    return isForeign ? { ...found, places: undefined } : found
  }
  const library = libraryTargets(subject, state)
  const targets = features.targets(subject.application, state.config)
  const former = [...(state.previousTargets ?? []), ...library].filter(
    (one) => !targets.some((other) => isSameTarget(one, other)),
  )
  const found = await Promise.all([...targets.map(findCurrent), ...former.map(find)])
  return { current: found.slice(0, targets.length), earlier: found.slice(targets.length), library }
}

/** Lists the targets that should carry labels but do not exist. */
export const missingIn = (
  features: Features,
  subject: Subject,
  state: State,
  found: readonly Found[],
  { required }: { readonly required: boolean },
): LabelTarget[] =>
  found.flatMap(({ target, places, problem }) =>
    required && places === undefined && problem === undefined && !isNamed(features, subject, state, target)
      ? [target]
      : [],
  )

/** Tells if policies name a Service. It is labelled if it belongs to the application. Otherwise the feature that names it reports it. */
export const isNamed = (
  features: Features,
  { application }: Subject,
  { config }: State,
  { kind, name }: LabelTarget,
): boolean => kind === 'Service' && features.services(application, config).includes(name)

/** The targets of the charm library: the StatefulSet and the Service with the application's name, whatever the config says. */
const libraryTargets = ({ application }: Subject, { libraryLabels }: State): LabelTarget[] =>
  libraryLabels === undefined
    ? []
    : [
        { kind: 'StatefulSet', name: application },
        { kind: 'Service', name: application },
      ]

/** Lists the owned objects: one call for each kind, and another one while the charm library's objects are taken over. */
const observeOwned = async (
  features: Features,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
): Promise<Owned> => {
  const kinds = ownedKinds(state.owned).filter((kind) => kind !== 'Namespace')
  const leftovers = features.leftovers(subject, resolved)
  const isNear = isOfOneNamespace(state)
  const list = async (kind: OwnedKind): Promise<Listed> => {
    const query = { kind, namespace: subject.namespace, isNear }
    const listOf =
      (managers: readonly string[]): Query<KubernetesObject>['list'] =>
      (...what) =>
        kubernetes.list(...what, { managers })
    const [live, ...library] = await Promise.all([
      listOwned({ ...query, selector: ownerSelector(subject), list: listOf([managerOf(subject, kind)]) }),
      ...leftovers.map(({ selector, managers }) => listOwned({ ...query, selector, list: listOf(managers) })),
    ])
    return { kind, ...live, library: library.flatMap((one) => one.live ?? []) }
  }
  const [secrets, namespace, ...listed] = await Promise.all([
    kinds.includes('Deployment') ? observeSecrets(kubernetes, subject, state) : undefined,
    Object.hasOwn(state.owned ?? {}, 'Namespace')
      ? read(kubernetes, { kind: 'Namespace', name: subject.namespace })
      : undefined,
    ...kinds.map(list),
  ])
  return { kinds: [...listed, ...(secrets?.kinds ?? [])], namespace, store: secrets?.store }
}

/** Reads Secrets by name. Listing them would read those of all applications. */
const observeSecrets = async (
  kubernetes: Kubernetes,
  subject: Subject,
  { config }: State,
): Promise<{ store: Read; kinds: readonly Listed[] }> => {
  const store = await read(kubernetes, storeReference(subject))
  const kept = 'object' in store ? secretsKept(Object.keys(store.object?.data ?? {})) : []
  const names = [...new Set([...Object.keys(ownWorkload(config)?.secrets ?? {}), ...kept])]
  if (names.length === 0) return { store, kinds: [] }
  const reads = await Promise.all(names.map((name) => read(kubernetes, { ...storeReference(subject), name })))
  const problem = reads.flatMap((one) => ('problem' in one ? one.problem : []))[0]
  const found = reads.flatMap((one) => ('object' in one ? (one.object ?? []) : []))
  const live =
    problem === undefined ? found.filter((object) => isOwnedBy(object, fieldManager(subject.application))) : undefined
  return { store, kinds: [{ kind: 'Secret', live, library: [], ...(problem !== undefined && { problem }) }] }
}

/** Tells if all policies of the application are in its own namespace: those that guard itself. */
export const isOfOneNamespace = ({ config, owned, lost }: State): boolean =>
  (config !== undefined || (owned !== undefined && lost === undefined)) &&
  config?.mesh === undefined &&
  config?.meshPolicies === undefined &&
  config?.rawPolicies === undefined &&
  Object.values(owned ?? {}).every((since) => since === null)

type Query<T> = {
  kind: OwnedKind
  namespace: string
  /** The objects are in the namespace of the application. */
  isNear?: boolean
  selector: string
  list(kind: OwnedKind, namespace: string | undefined, selector: string): Promise<readonly T[]>
}

/**
 * Lists the owned objects of a kind. Policies are in the namespaces of their targets, all others in the application's namespace. If listing
 * across namespaces is forbidden, only the application's namespace is listed.
 */
export const listOwned = async <T>({
  kind,
  namespace,
  isNear = false,
  selector,
  list,
}: Query<T>): Promise<{ readonly live: readonly T[] | undefined; readonly problem?: string }> => {
  const listIn = (where: string | undefined) => unlessForbidden(ifServed(list(kind, where, selector)))
  const everywhere = kind === 'AuthorizationPolicy' && !isNear ? await listIn(undefined) : undefined
  const listed = everywhere === undefined || 'problem' in everywhere ? await listIn(namespace) : everywhere
  return 'problem' in listed ? { live: undefined, ...listed } : { live: listed.value }
}

/** Returns the value, or a problem if access is forbidden. Then the data are unknown, and the rest of the step goes on. */
export const unlessForbidden = async <T>(reading: Promise<T>): Promise<{ value: T } | { problem: string }> => {
  try {
    return { value: await reading }
  } catch (error) {
    if (isForbidden(error)) return { problem: describeRefusal(error) }
    throw error
  }
}

const read = async (kubernetes: Kubernetes, reference: Parameters<Kubernetes['find']>[0]): Promise<Read> => {
  const found = await unlessForbidden(kubernetes.find(reference))
  return 'problem' in found ? found : { object: found.value }
}

/** The live objects at the names of objects to be created, by name. Server-side apply would merge our fields into them. */
export type Namesakes = ReadonlyMap<string, Read>

const LOOKUPS_AT_ONCE = 16

/** Reads the objects at the names of desired objects that are not ours yet. */
export const findNamesakes = async (
  kubernetes: Kubernetes,
  { kinds }: Owned,
  { objects }: Pick<Desired, 'objects'>,
): Promise<Namesakes> => {
  const known = new Set<string>(kinds.flatMap(({ kind, live }) => (live === undefined ? [] : [kind])))
  const ours = new Set(kinds.flatMap(({ live = [] }) => live.map(objectKey)))
  const left = objects.filter((object) => known.has(object.kind) && !ours.has(objectKey(object)))
  const found = await pMap(
    left,
    async (object) => [objectKey(object), await read(kubernetes, referenceTo(object))] as const,
    { concurrency: LOOKUPS_AT_ONCE },
  )
  return new Map(found)
}
