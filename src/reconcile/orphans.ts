import type { Memo } from '../base/memo.ts'
import { Application } from '../base/names.ts'
import type { Features } from '../feature/combine.ts'
import { candidateKinds } from '../kubernetes/apply-labels.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { listAppliers } from '../kubernetes/field-managers.ts'
import type { LabelTarget } from '../kubernetes/label-target.ts'
import type { Kind, KubernetesObject } from '../kubernetes/objects.ts'
import { APPLICATION_LABEL, fieldManager, MEMORY_SELECTOR, ownerSelector } from '../kubernetes/ownership-labels.ts'
import { isPodOf } from '../kubernetes/pods.ts'
import { type Document, listDocuments } from '../relations/documents.ts'
import { listRemotes } from '../relations/peers.ts'
import { isEndKnown } from '../relations/progress.ts'
import { memoryName } from '../state/memory.ts'
import { emptyState, isRemoved, OwnedKind, type State } from '../state/state.ts'
import { BESIDE_WORKLOADS, WORKLOAD_KINDS, workloadManager } from '../workload/objects.ts'
import { listOwned } from './observed.ts'

/** An application of a namespace, and what its memory may not know of: labels and objects of its own, documents and memories that name it. */
export type Swept = {
  application: string
  former: readonly LabelTarget[]
  owned: readonly OwnedKind[]
  documents: readonly string[]
  named: readonly string[]
}

const LABELLED: readonly Kind[] = ['StatefulSet', 'Deployment', 'Service', 'Pod']

/**
 * The applications of a namespace: those with a memory, those that documents or memories of others name, and those that lost their memory but whose
 * field manager still holds labels or objects. The name of the field manager says whose they are.
 */
export const sweep = async (features: Features, kubernetes: Kubernetes, namespace: string): Promise<Swept[]> => {
  const [memories, documents, owners, ...labelled] = await Promise.all([
    kubernetes.list('ConfigMap', namespace, MEMORY_SELECTOR),
    listDocuments(kubernetes, namespace, features.givenConfig),
    ownersIn(kubernetes, namespace),
    ...LABELLED.map((kind) => kubernetes.list(kind, namespace)),
  ])
  const objects = labelled.flat()
  const remembered = new Map(memories.flatMap(applicationOf))
  const owning = owners.map(({ application }) => application)
  const states = new Map(
    [...remembered].map(([application, memory]) => [application, stateIn(features, memory, kubernetes.memo)]),
  )
  const naming = namesIn(namespace, states)
  const holding = Map.groupBy(
    objects.flatMap((object) => holdersOf(object).map((application) => ({ application, object }))),
    ({ application }) => application,
  )
  const owned = Map.groupBy(owners, ({ application }) => application)
  const named = new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
  const applications = new Set([
    ...remembered.keys(),
    ...owning,
    ...holding.keys(),
    ...documents.flatMap((document) => document.application ?? []),
    ...naming.keys(),
  ])
  return [...applications].toSorted().map((application): Swept => {
    const state = states.get(application)
    const told = {
      application,
      documents: documents.filter((document) => mayBeOf(document, application)).map(({ name }) => name),
      named: naming.get(application) ?? [],
    }
    // where labels belong is not known while the memory is lost, or cannot be read, or was not told the config again
    if (!state) return { ...told, former: [], owned: [] }
    const targeted = new Set(
      features.targets(application, state.config).flatMap((target) => found(target, { objects, named }, state)),
    )
    const isPlaced = state.config !== undefined || isEndKnown(state)
    const all = (holding.get(application) ?? []).map(({ object }) => object)
    const held = [...new Set(isPlaced ? all : [])].filter((object) => !targeted.has(object))
    const kinds = (owned.get(application) ?? []).map(({ kind }) => kind)
    return {
      ...told,
      former: held.map(({ kind, metadata: { name } }) => ({ kind: kind as LabelTarget['kind'], name })),
      owned: [...new Set(kinds)].filter((kind) => !state.owned?.includes(kind) && mayGo(kind, state)),
    }
  })
}

/** A document that cannot be read may be anybody's. */
const mayBeOf = (document: Document, application: string): boolean =>
  (document.application ?? application) === application

/** An application that only the charm library has written to has no state yet. */
const stateIn = ({ memories }: Features, memory: KubernetesObject, memo: Memo): State | undefined => {
  const state = memories.read(memory, memo)
  return state instanceof Error ? undefined : (state ?? emptyState())
}

/** Groups applications by the names that their relations refer to within the namespace: each name with those that use it. */
const namesIn = (namespace: string, states: ReadonlyMap<string, State | undefined>): Map<string, string[]> => {
  const names = [...states].flatMap(([application, state]) =>
    state === undefined
      ? []
      : listRemotes({ namespace, application }, state)
          .filter((remote) => remote.namespace === namespace)
          .map((remote) => ({ by: application, name: remote.application })),
  )
  return new Map([...Map.groupBy(names, ({ name }) => name)].map(([name, all]) => [name, all.map(({ by }) => by)]))
}

/**
 * Tells if an orphan of this kind may be removed. A workload runs on while the config that demands it is unknown: removal can wait for that
 * config.
 */
const mayGo = (kind: OwnedKind, state: State | undefined): boolean =>
  ![...WORKLOAD_KINDS, ...BESIDE_WORKLOADS].some((one) => one === kind) ||
  (state !== undefined && (state.config !== undefined || isRemoved(state)))

/** The applications of a namespace that own objects, of which kinds. */
const ownersIn = async (
  kubernetes: Kubernetes,
  namespace: string,
): Promise<{ application: string; kind: OwnedKind }[]> => {
  const listed = await Promise.all(
    OwnedKind.options.map(async (kind) => {
      const objects =
        kind === 'Namespace'
          ? [await kubernetes.find({ kind, name: namespace })]
          : (await listOwned(kubernetes, { kind, namespace, selector: ownerSelector({ namespace }) })).live
      return (objects ?? [])
        .flatMap((object) => (object ? [...holdersOf(object), ...holdersOf(object, WORKLOAD_PREFIX)] : []))
        .map((application) => ({ application, kind }))
    }),
  )
  return listed.flat()
}

const applicationOf = (memory: KubernetesObject): [string, KubernetesObject][] => {
  const application = memory.metadata.labels?.[APPLICATION_LABEL] ?? ''
  return memory.metadata.name === memoryName(application) ? [[application, memory]] : []
}

const PREFIX = fieldManager('')
const WORKLOAD_PREFIX = workloadManager('')

/** The applications whose field manager holds something on the object. */
const holdersOf = (object: KubernetesObject, prefix = PREFIX): string[] =>
  listAppliers(object)
    .filter((manager) => manager.startsWith(prefix))
    .map((manager) => manager.slice(prefix.length))
    .filter((application) => Application.safeParse(application).success)

/** The objects among those listed that a step would look at for a target. */
const found = (
  { kind, name, on }: LabelTarget,
  { objects, named: all }: { objects: readonly KubernetesObject[]; named: ReadonlyMap<string, KubernetesObject> },
  state: State | undefined,
): KubernetesObject[] => {
  const kinds: readonly string[] = kind === 'Workload' ? candidateKinds(state?.workloadKind) : [kind]
  const named = kinds.flatMap((one) => all.get(`${one} ${name}`) ?? [])
  const [workload] = named
  if (workload === undefined) return []
  return on === 'pods' ? objects.filter((object) => object.kind === 'Pod' && isPodOf(workload, object)) : [workload]
}
