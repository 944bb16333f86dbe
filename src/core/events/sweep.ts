import type { Memo } from '../../platform/base/memo.ts'
import { defined } from '../../platform/base/own-value.ts'
import { DOCUMENT_SELECTOR } from '../../platform/cloudevents/knative/document.ts'
import { candidateKinds } from '../../platform/kubernetes/apply-labels.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { LabelTarget } from '../../platform/kubernetes/label-target.ts'
import type { Kind, KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL, MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { isPodOf } from '../../platform/kubernetes/pods.ts'
import type { Features } from '../feature/combine.ts'
import { unlessForbidden } from '../reconcile/observe/cluster.ts'
import { holdersOf, isLeftBy, listEach, type Owner, ownersIn, podHoldersOf } from '../reconcile/observe/field-owners.ts'
import { listRemotes } from '../relations/peers.ts'
import { isEnrolling, takesLabels } from '../relations/requested-labels.ts'
import { readDocument, rememberedDocuments } from '../relations/told/documents.ts'
import { type Tombstones, tombstoneOf } from '../relations/told/tombstones.ts'
import { memoryName } from '../state/memory.ts'
import type { OwnedKind } from '../state/owned-kinds.ts'
import { emptyState, stands } from '../state/state.ts'
import { POD_LABELS } from '../workload/pod-labels.ts'

/** An application of a namespace, with findings that its memory may not have: its labels and objects, and the documents and memories that name it. */
export type Swept = {
  application: string
  former: readonly LabelTarget[]
  owned: readonly OwnedKind[]
  documents: readonly string[]
  named: readonly string[]
}

const LABELLED: readonly Kind[] = ['StatefulSet', 'Deployment', 'Service', 'Pod']

/**
 * The applications of a namespace. `lost` has a sentence for each lost memory, `unclaimed` one for each document whose application is
 * unknown. `problems` has the reasons why some applications may not have been found.
 */
export type Sweep = {
  readonly applications: readonly Swept[]
  readonly lost: readonly string[]
  readonly unclaimed: readonly string[]
  readonly problems: readonly string[]
}

/**
 * Finds the applications of a namespace: those with a memory, those that documents or other memories name, and those that lost their memory
 * while their field manager still holds labels or objects. The field manager's name tells the application. Only these findings are kept of
 * the listed objects. If a list is forbidden, the sweep goes on, because each step reads by name what it needs. But leftover labels are
 * then unknown, so none are reported.
 */
export const sweep = async (features: Features, kubernetes: Kubernetes, namespace: string): Promise<Sweep> => {
  const [memories, documents, owners, ...seen] = await Promise.all([
    listEach(kubernetes, 'ConfigMap', namespace, MEMORY_SELECTOR, (memory) =>
      rememberedIn(features, memory, kubernetes.memo),
    ),
    listEach(kubernetes, 'ConfigMap', namespace, DOCUMENT_SELECTOR, (object) => documentIn(features, object)),
    ownersIn(kubernetes, namespace),
    ...LABELLED.map((kind) => unlessForbidden(listEach(kubernetes, kind, namespace, undefined, seenIn))),
  ])
  const problems = seen.flatMap((one) => ('problem' in one ? one.problem : []))
  const isWhole = seen.every((one) => 'value' in one)
  const objects = seen.flatMap((one) => ('value' in one ? one.value : []))
  const remembered = new Map(memories.map((one) => [one.application, one]))
  const naming = Map.groupBy(
    memories.flatMap(({ application, remotes }) => remotes.map((name) => ({ by: application, name }))),
    ({ name }) => name,
  )
  const holding = Map.groupBy(
    objects.flatMap((object) => object.holders.map((application) => ({ application, object }))),
    ({ application }) => application,
  )
  const owned = Map.groupBy(owners, ({ application }) => application)
  const documented = Map.groupBy(documents, ({ application }) => application)
  const unread = documents.filter(({ problem }) => problem !== undefined)
  const named = new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
  const applications = new Set([
    ...[remembered, owned, holding, naming].flatMap((all) => [...all.keys()]),
    ...[...documented.keys()].filter((application) => application !== undefined),
  ])
  const swept = [...applications].toSorted().map((application): Swept => {
    const known = remembered.get(application)?.known
    const told = {
      application,
      // an unreadable document also belongs to the applications that remember its content
      documents: [
        ...new Set(
          [
            ...(documented.get(application) ?? []),
            ...unread.filter(({ name }) => remembered.get(application)?.documents.has(name)),
          ].map(({ name }) => name),
        ),
      ],
      named: (naming.get(application) ?? []).map(({ by }) => by),
    }
    // the places of labels are unknown while the memory is lost or unreadable, or the config has not been sent again
    if (!known) return { ...told, former: [], owned: [] }
    const all = (holding.get(application) ?? []).map(({ object }) => object)
    const held = [...new Set(known.isPlaced && isWhole ? all : [])].filter(
      (object) => !isTargeted(known, object, named),
    )
    const left = (owned.get(application) ?? []).filter(known.isLeft)
    return {
      ...told,
      former: held.map(({ kind, metadata: { name } }) => ({ kind: kind as LabelTarget['kind'], name })),
      owned: [...new Set(left.map(({ kind }) => kind))],
    }
  })
  // the resync of an application with documents makes its memory again
  const unmade = owners.filter(({ application }) => !documented.has(application))
  const lost = lostMemories(namespace, unmade, new Set(remembered.keys())).map(({ message }) => message)
  const claimed = new Set(swept.flatMap((one) => one.documents))
  const unclaimed = unread.flatMap(({ name, problem }) => (problem === undefined || claimed.has(name) ? [] : [problem]))
  return { applications: swept, lost, unclaimed, problems }
}

/** The application of a memory, with the applications of the namespace and the documents that it names. `known` is absent if the memory is unreadable. */
type Remembered = {
  readonly application: string
  readonly remotes: readonly string[]
  readonly documents: ReadonlySet<string>
  readonly known?: Known
}

type Known = {
  /** The targets, each with its possible kinds. */
  readonly targets: readonly (LabelTarget & { readonly kinds: readonly string[] })[]
  /** The places of labels are known, so labels anywhere else are left over. */
  readonly isPlaced: boolean
  /** Its object is left over. */
  readonly isLeft: (owner: Owner) => boolean
}

const rememberedIn = (features: Features, memory: KubernetesObject, memo: Memo): Remembered[] => {
  const { name, namespace = '', labels } = memory.metadata
  const application = labels?.[APPLICATION_LABEL] ?? ''
  if (name !== memoryName(application)) return []
  const read = features.memories.read(memory, memo)
  if (read instanceof Error) return [{ application, remotes: [], documents: new Set() }]
  // an application that only the charm library has written for has no state yet
  const state = read ?? emptyState()
  const { config, workloadKind } = state
  const subject = { namespace, application }
  const buried = Object.keys(state.tombstones ?? {}).flatMap((key) => tombstoneOf(subject, key).remote ?? [])
  const remotes = [...listRemotes(subject, state), ...buried].filter((remote) => remote.namespace === namespace)
  const targets = features.targets(application, config).map((target) => ({
    ...target,
    kinds: target.kind === 'Workload' ? candidateKinds(workloadKind) : [target.kind],
  }))
  const isTold = config !== undefined
  const isEnrolled = Object.values(state.relations).some((entry) => takesLabels(entry) && stands(state, entry))
  const hasEnded =
    Object.values(state.relations).some(takesLabels) || Object.values(state.tombstones ?? {}).some(isOfEnrolling)
  const isOver = state.removed !== undefined || (!isEnrolled && hasEnded)
  const known = { targets, isLeft: isLeftBy(state), isPlaced: isTold || isOver }
  return [
    {
      application,
      remotes: remotes.map((remote) => remote.application),
      documents: rememberedDocuments(state),
      known,
    },
  ]
}

const isOfEnrolling = ({ interface: name = '' }: Tombstones[string]): boolean => isEnrolling({ interface: name })

type Titled = { readonly name: string; readonly application?: string; readonly problem?: string }

/** Reads only the application of a document, or the reason why it is unreadable. */
const documentIn = ({ configDocument }: Features, object: KubernetesObject): Titled[] => {
  const document = readDocument(object, configDocument)
  if (document === undefined) return []
  const { name, application } = document
  return [defined({ name, application, problem: 'problem' in document ? document.problem : undefined })]
}

/** The ownership part of an object, with the applications whose field managers hold one of its fields. */
type Seen = KubernetesObject & { readonly holders: readonly string[] }

/** Reduces an object to its owners. A workload is kept even without one, because its pods are identified by it. */
const seenIn = (object: KubernetesObject): Seen[] => {
  const { apiVersion, kind, metadata } = object
  const { name, uid = '', labels = {}, ownerReferences } = metadata
  const { [POD_LABELS]: held } = metadata.annotations ?? {}
  const holders = [...holdersOf(object), ...(held === undefined ? [] : podHoldersOf(object))]
  const isWorkload = candidateKinds().some((one) => one === kind)
  return holders.length > 0 || isWorkload
    ? [{ apiVersion, kind, metadata: { name, uid, labels, ownerReferences }, holders }]
    : []
}

/** Tells if a step observes the object for one of the targets. */
const isTargeted = ({ targets }: Known, object: Seen, named: ReadonlyMap<string, Seen>): boolean =>
  targets.some(({ kinds, name, on }) => {
    const [workload] = kinds.flatMap((kind) => named.get(`${kind} ${name}`) ?? [])
    if (on !== 'pods') return object === workload
    return workload !== undefined && object.kind === 'Pod' && isPodOf(workload, object)
  })

/** Lists the applications that own objects and have no memory, with a sentence for each. */
export const lostMemories = (
  namespace: string,
  owners: readonly Owner[],
  known: ReadonlySet<string>,
): { readonly about: string; readonly message: string }[] =>
  [...Map.groupBy(owners, ({ application }) => application)]
    .filter(([application]) => !known.has(application))
    .map(([application, owned]) => {
      const about = `${namespace}/${application}`
      const kinds = [...new Set(owned.map(({ kind }) => kind))].toSorted().join(', ')
      return {
        about,
        message: `${about} has no memory, though objects of it stand (${kinds}): tell its config, or its removal`,
      }
    })
