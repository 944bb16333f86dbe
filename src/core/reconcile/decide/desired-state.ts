import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { WantedLabels } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { fieldManager, ownerLabels } from '../../../platform/kubernetes/ownership-labels.ts'
import type { Features } from '../../feature/combine.ts'
import type { Contribution, DesiredLabels, FeatureInput, TakenPolicies } from '../../feature/feature.ts'
import { ownedKeys } from '../../relations/databags/application-data.ts'
import { awaitedEndpoints } from '../../relations/lost-memory.ts'
import { takesLabels } from '../../relations/requested-labels.ts'
import type { EffectiveState, State } from '../../state/state.ts'

/** The desired state of the cluster. */
export type Desired = {
  readonly labels: DesiredLabels
  /** Annotations of the pod template. */
  readonly annotations: WantedLabels
  readonly objects: readonly KubernetesObject[]
  /** The policies of relations that are over, as they are to be while they stand. */
  readonly carried: readonly KubernetesObject[]
  /** The managers that wrote the application's policies as long as its beacon did, by name. */
  readonly formerly: ReadonlyMap<string, string>
  /** Requesters whose requests are not known, and objects of which the content is not. What was made for them stays. */
  readonly unknownRequests: readonly string[]
  /** Waits for something that does not exist yet. The step is not complete before it does. */
  readonly waiting: readonly Condition[]
  /** Problems of data that relations tell, and that cannot be read or served. They are a part of the messages. */
  readonly unserved: readonly string[]
  readonly messages: readonly string[]
  /** The action of other applications of which this one has to be told. */
  readonly awaiting: State['awaiting']
}

/** Combines the desired state of all features. A pure function of the input. */
export const desiredState = (features: Features, input: FeatureInput): Desired => {
  const { subject, resolved } = input
  const { state, unknown, blocked, problems } = resolved
  const { config } = state
  const labels = features.labels(subject, resolved)
  const parts = features.desire(input)
  const requests = parts.flatMap((part) => part.requests ?? [])
  const guards = parts.flatMap((part) => part.guards ?? [])
  const policiesOf = ({ beacon, identities, requests: asked, guards: guarded }: TakenPolicies) => ({
    manager: fieldManager(beacon.application),
    policies: features.mesh.policies(beacon, identities, asked, guarded),
  })
  const taken = parts.flatMap((part) => part.taken ?? []).map(policiesOf)
  const carried = parts.flatMap((part) => part.carried ?? []).flatMap((one) => policiesOf(one).policies)
  const objects = [
    ...features.mesh.policies(subject, config, requests, guards),
    ...taken.flatMap(({ policies }) => policies),
    ...parts.flatMap((part) => part.objects ?? []),
  ].map((object) => labelled(object, ownerLabels(subject)))
  const audit = features.mesh.audited(objects, auditedIn(parts))
  const unserved = distinct([...blocked, ...problems, ...parts.flatMap((part) => part.unserved ?? [])])
  const named = [...Map.groupBy(audit.objects, objectKey)]
  return {
    labels,
    annotations: {
      ...(parts.find(({ annotations }) => annotations)?.annotations ?? NO_ANNOTATIONS),
      ...(unknown.config && { unknown: 'all' as const }),
    },
    objects: named.flatMap(([, same]) => same.slice(0, 1)),
    unknownRequests: parts.flatMap((part) => part.unknownRequests ?? []),
    carried: carried.map((object) => labelled(object, ownerLabels(subject))),
    formerly: new Map(
      taken.flatMap(({ manager, policies }) => policies.map((policy) => [objectKey(policy), manager] as const)),
    ),
    waiting: [
      ...lostEnrolment(subject, state),
      ...awaitedEndpoints(state),
      ...parts.flatMap((part) => part.waiting ?? []),
    ],
    awaiting: parts.map(({ awaiting }) => awaiting).find((awaiting) => awaiting !== undefined),
    unserved,
    messages: distinct([
      ...unserved,
      ...(labels.refused ?? []),
      ...labels.messages,
      ...parts.flatMap((part) => part.messages ?? []),
      ...ownedKeys(config?.databag, state.relations),
      ...ownedKeys(state.databag, state.relations),
      ...audit.messages,
      ...named.flatMap(([name, { length }]) => (length > 1 ? [`${name} ${REPEATED}`] : [])),
    ]),
  }
}

/** Returns the wait for the relation that put an application with a lost memory on the mesh. There is none if a relation is known that may be the one. */
const lostEnrolment = (subject: Subject, { lost, relations }: EffectiveState): Condition[] =>
  lost?.labels && !Object.values(relations).some(takesLabels)
    ? [waitFor(['a relation'], 'MemoryLost', 'labels of the mesh', `${subjectName(subject)} ${STAYS_ON_MESH}`)]
    : []

const STAYS_ON_MESH =
  'stays on the mesh, as its memory was lost and the relation that enrolled it is not known: send that relation, or its end with its interface'

const auditedIn = (parts: readonly Contribution[]): 'all' | readonly string[] =>
  parts.some(({ audited }) => audited === 'all') ? 'all' : parts.flatMap(({ audited = [] }) => audited as string[])

const NO_ANNOTATIONS: WantedLabels = { labels: {}, unknown: [], inherited: {} }

const REPEATED = 'is in the config more than once, or made for it by another part of it: only the first is applied'

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

const labelled = (object: KubernetesObject, labels: Readonly<Record<string, string>>): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } },
})
