import type { Desired } from '../../src/core/reconcile/decide/desired-state.ts'
import type { Situation } from '../../src/core/reconcile/decide/situation.ts'
import type { Observed } from '../../src/core/reconcile/observe/cluster.ts'
import type { Found } from '../../src/core/reconcile/observe/units.ts'
import { unknownIn } from '../../src/core/relations/unknown.ts'
import { emptyState } from '../../src/core/state/state.ts'
import { workloadManager } from '../../src/core/workload/objects.ts'
import { features } from '../../src/features.ts'
import { TEMPLATE_LABELS } from '../../src/platform/kubernetes/apply-labels.ts'
import type { FieldSet, KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { fieldManager, ownerLabels } from '../../src/platform/kubernetes/ownership-labels.ts'
import { SUBJECT } from './world.ts'

type Labels = Readonly<Record<string, string>>

const owns = (path: readonly string[], keys: readonly string[]): FieldSet =>
  path.reduceRight<FieldSet>(
    (inner, name) => ({ [`f:${name}`]: inner }),
    Object.fromEntries(keys.map((key) => [`f:${key}`, {}])),
  )

/** The object as the manager of its application applied it, with the owner's labels. */
export const owned = (object: KubernetesObject, kind = object.kind): KubernetesObject => {
  const labels = ownerLabels(SUBJECT)
  const isOfWorkload = ['Deployment', 'StatefulSet', 'Service', 'ServiceAccount'].includes(kind)
  const manager = isOfWorkload ? workloadManager(SUBJECT.application) : fieldManager(SUBJECT.application)
  return withFields(
    { ...object, metadata: { ...object.metadata, labels } },
    manager,
    owns(['metadata', 'labels'], Object.keys(labels)),
  )
}

const withFields = (object: KubernetesObject, manager: string, fieldsV1: FieldSet): KubernetesObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    managedFields: [...(object.metadata.managedFields ?? []), { manager, operation: 'Apply', fieldsV1 }],
  },
})

/** A target of labels that carries `labels`, held by `manager`. */
export const labelled = (
  kind: 'Service' | 'StatefulSet',
  labels: Labels,
  manager = fieldManager(SUBJECT.application),
): Found => {
  const { namespace, application: name } = SUBJECT
  const isService = kind === 'Service'
  const path = isService ? ['metadata', 'labels'] : TEMPLATE_LABELS
  const object: KubernetesObject = {
    ...{ apiVersion: isService ? 'v1' : 'apps/v1', kind },
    metadata: { name, namespace, uid: `uid of ${kind}`, resourceVersion: '1', ...(isService && { labels }) },
    ...(!isService && { spec: { template: { metadata: { labels } } } }),
  }
  const held = withFields(object, manager, owns(path, Object.keys(labels)))
  return { target: { kind, name }, places: [{ object: held, path }] }
}

export type Changes = Omit<Partial<Situation>, 'desired' | 'observed'> & {
  readonly desired?: Partial<Desired>
  readonly observed?: Partial<Observed>
}

/** What nobody desires, waits for or says. */
export const NOTHING_DESIRED = {
  annotations: { labels: {}, unknown: [], inherited: {} },
  ...{ objects: [], formerly: new Map(), carried: [], unknownRequests: [] },
  ...{ waiting: [], unserved: [], messages: [], awaiting: undefined },
} satisfies Partial<Situation['desired']>

/** A situation of `web` in which nothing is there and nothing is desired, but for `changes`. */
export const situationOf = ({ desired, observed, ...changes }: Changes): Situation => ({
  ...{ features, subject: SUBJECT, state: { ...emptyState(), config: {} }, heldLabels: {}, waitForPods: undefined },
  observed: {
    ...{ lookups: new Map(), owned: { kinds: [] }, running: {} },
    targets: { current: [], earlier: [], library: [] },
    ...observed,
  },
  namesakes: new Map(),
  desired: {
    labels: { labels: {}, unknown: [], required: false, messages: [] },
    ...NOTHING_DESIRED,
    ...desired,
  },
  ...{ keptFor: [], leftovers: [], isClaimAwaited: false, unenforced: [], labelsAwaited: [] },
  unknown: unknownIn({ ...emptyState(), ...(changes.state ?? { config: {} }), relations: {} }),
  ...changes,
})
