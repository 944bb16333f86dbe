import { isDeepStrictEqual } from 'node:util'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { ClusterView, Contribution, DesiredLabels, FeatureInput } from '../feature/feature.ts'
import type { WantedLabels } from '../kubernetes/label-difference.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'
import { ownerLabels } from '../kubernetes/ownership-labels.ts'
import { ownedKeys } from '../relations/application-data.ts'
import type { Effective } from '../relations/effective.ts'
import { MESH_KEYS } from '../relations/foreign-labels.ts'
import { hasLabelRequests, isRequirer } from '../relations/progress.ts'
import type { EffectiveState } from '../state/state.ts'

/** The desired state of the cluster. */
export type Desired = {
  readonly labels: DesiredLabels
  /** Of the template of the pods. */
  readonly annotations: WantedLabels
  readonly objects: readonly KubernetesObject[]
  /** Requesters whose requests cannot be read: what was made for them stays. */
  readonly unknown: readonly string[]
  /** A sentence for each object that does not exist yet: the step is not done before it does. */
  readonly waiting: readonly string[]
  readonly messages: readonly string[]
  /** Others carry labels that they are to let go of. */
  readonly isAwaitingLabels: boolean
}

/** It is known by now what asks for the labels that a lost memory left on the workload. */
export const isEnrolmentKnown = (features: Features, subject: Subject, resolved: Effective): boolean =>
  hasLabelRequests(resolved) || MESH_KEYS.some((key) => Object.hasOwn(features.labels(subject, resolved).labels, key))

type Known = {
  readonly features: Features
  readonly input: Omit<FeatureInput, 'seen'>
  readonly seen: string
  readonly desired: Desired
}

/** Bounds the applications of which it is kept: of a beacon with a thousand policies it is some megabytes. */
const MOST_KNOWN = 4

/** Of each cluster: a plan's own has other objects of the same versions. */
const known = new WeakMap<object, Map<string, Known>>()

/**
 * The desired state, which of the same input is the same value: a step with nothing to do need not make and compare all of it again.
 */
export const knownDesiredState = (cluster: object, features: Features, given: FeatureInput): Desired => {
  const { seen: view, ...input } = given
  const seen = versionsIn(view)
  const latest = known.get(cluster) ?? new Map<string, Known>()
  known.set(cluster, latest)
  const name = subjectName(input.subject)
  const before = latest.get(name)
  if (before?.features === features && before.seen === seen && isDeepStrictEqual(before.input, input))
    return before.desired
  const desired = desiredState(features, given)
  latest.delete(name)
  latest.set(name, { features, input, seen, desired })
  for (const oldest of latest.keys()) if (latest.size > MOST_KNOWN) latest.delete(oldest)
  return desired
}

/** Everything in it, with the version of an object in the place of the object. */
const versionsIn = (view: ClusterView): string =>
  JSON.stringify(view, (_, value) => {
    if (value instanceof Map) return [...value]
    const { uid, resourceVersion } = value?.metadata ?? {}
    return uid && resourceVersion ? `${uid} ${resourceVersion}` : value
  })

/** Joins what all features desire: a pure function of the input. */
export const desiredState = (features: Features, input: FeatureInput): Desired => {
  const { subject, resolved } = input
  const { state, blocked, problems } = resolved
  const { config } = state
  const labels = features.labels(subject, resolved)
  const parts = features.desire(input)
  const requests = parts.flatMap((part) => part.requests ?? [])
  const guards = parts.flatMap((part) => part.guards ?? [])
  const objects = [
    ...features.mesh.policies(subject, config, requests, guards),
    ...parts.flatMap((part) => part.objects ?? []),
  ].map((object) => labelled(object, ownerLabels(subject)))
  const audit = features.mesh.audited(objects, auditedIn(parts))
  const named = [...Map.groupBy(audit.objects, ({ kind, metadata }) => nameOf({ kind, ...metadata }))]
  return {
    labels,
    annotations: parts.find(({ annotations }) => annotations)?.annotations ?? NO_ANNOTATIONS,
    objects: named.flatMap(([, same]) => same.slice(0, 1)),
    unknown: parts.flatMap((part) => part.unknown ?? []),
    // two features may have the same to say of a relation
    waiting: distinct([...lostEnrolment(subject, state), ...parts.flatMap((part) => part.waiting ?? [])]),
    isAwaitingLabels: parts.some(({ isAwaitingLabels }) => isAwaitingLabels === true),
    messages: distinct([
      ...blocked,
      ...problems,
      ...labels.messages,
      ...parts.flatMap((part) => part.messages ?? []),
      ...ownedKeys(config?.databag, state.relations),
      ...ownedKeys(state.databag, state.relations),
      ...audit.messages,
      ...named.flatMap(([name, { length }]) => (length > 1 ? [`${name} ${REPEATED}`] : [])),
    ]),
  }
}

/** A relation that may have put it there is known where only its data are not. */
const lostEnrolment = ({ namespace, application }: Subject, { carried, relations }: EffectiveState): string[] =>
  carried && !Object.values(relations).some(isRequirer) ? [`${namespace}/${application} ${STAYS_ON_MESH}`] : []

const STAYS_ON_MESH =
  'stays on the mesh, as its memory was lost and nothing says what put it there: tell that relation, or its end with its interface'

const auditedIn = (parts: readonly Contribution[]): 'all' | readonly string[] =>
  parts.some(({ audited }) => audited === 'all') ? 'all' : parts.flatMap(({ audited = [] }) => audited as string[])

const NO_ANNOTATIONS: WantedLabels = { labels: {}, unknown: [], inherited: {} }

const REPEATED = 'is in the config more than once, or made for it by another part of it: only the first is applied'

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

const labelled = (object: KubernetesObject, labels: Readonly<Record<string, string>>): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } },
})
