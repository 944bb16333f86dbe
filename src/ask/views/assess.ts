import type { Features } from '../../core/feature/combine.ts'
import type { DesiredLabels, Environment } from '../../core/feature/feature.ts'
import type { Mesh } from '../../core/feature/mesh.ts'
import type { Unenforced } from '../../core/policies/unenforced.ts'
import type { Operation, Plan } from '../../core/reconcile/decide/operation.ts'
import { dueIn } from '../../core/reconcile/decide/plan.ts'
import type { Situation } from '../../core/reconcile/decide/situation.ts'
import { type Decision, decide } from '../../core/reconcile/decide.ts'
import { meshConfigs, namespaceCause, withCauses } from '../../core/reconcile/observe/accepted-objects.ts'
import { listOwned, missingIn, observeCluster } from '../../core/reconcile/observe/cluster.ts'
import { type Owner, orphanWaits } from '../../core/reconcile/observe/field-owners.ts'
import { type Running, withUnits } from '../../core/reconcile/observe/units.ts'
import { heldOf, type Judgement, judge } from '../../core/reconcile/record/conditions.ts'
import { refusalsOf } from '../../core/reconcile/record/final-memory.ts'
import { waitsOf } from '../../core/reconcile/record/waits.ts'
import { listRemotes, type Peers, readPeers } from '../../core/relations/peers.ts'
import { unawareBeacons } from '../../core/relations/relation-waits.ts'
import { type ResolvedRelations, resolveRelations } from '../../core/relations/resolve-relations.ts'
import { configWait } from '../../core/relations/unknown.ts'
import type { Memory } from '../../core/state/memory.ts'
import { relationName } from '../../core/state/relation.ts'
import type { State } from '../../core/state/state.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { defined } from '../../platform/base/own-value.ts'
import type { Recall } from '../../platform/base/recall.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { isMadeByMeshstep, MANAGED_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'

/** The dependencies of an assessment. */
export type AssessDependencies = {
  features: Features
  kubernetes: Kubernetes
  clock: Pick<Clock, 'yieldTurn' | 'now'>
  environment: Environment
  /** Lists the owners of objects in a namespace. One list serves all applications that are assessed together. */
  owners(namespace: string): Promise<readonly Owner[]>
}

/** The assessment of an application: the findings that a step would have and report. */
type Assessment = Judgement & {
  readonly state: State
  readonly resolved: ResolvedRelations
  readonly peers: Peers
  readonly running: Running
  readonly labels: DesiredLabels
}

const recall: Recall = (_, of, input) => of(input)

/** Observes like a resync and decides like any step, but writes nothing. */
export const assess = async (
  { features, kubernetes, clock, environment, owners }: AssessDependencies,
  subject: Subject,
  memory: Memory,
): Promise<Assessment> => {
  const remembered = memory.state
  const peers = await readPeers(kubernetes, listRemotes(subject, remembered))
  const seen = resolveRelations(subject, remembered, peers)
  const observed = await observeCluster(features, kubernetes, subject, remembered, seen, true)
  const { targets, running } = observed
  const state = withUnits(features, subject, remembered, running)
  const { live } = await listOwned({
    ...{ kind: 'AuthorizationPolicy', namespace: subject.namespace, selector: MANAGED_SELECTOR },
    list: (...what) => kubernetes.list(...what, { trim: WITHOUT_RULES }),
  })
  const now = new Date(clock.now())
  const folded = { state, resolved: resolveRelations(subject, state, peers), observed }
  const decision = await decide(
    { subject, features, kubernetes, clock, environment, recall },
    { memory, found: { peers }, now },
    folded,
    { isWhole: true, witnesses: live ?? [] },
  )
  const { resolved, situation, plan: planned } = decision
  const { desired } = situation
  const missing = missingIn(features, subject, state, targets.current, desired.labels)
  const unenforced = [
    ...(await withCauses(features.mesh, kubernetes, [
      ...situation.unenforced,
      ...(await guardedBy(features.mesh, kubernetes, subject, live ?? [], situation)),
    ])),
    ...(isMeshed(situation) ? await namespaceCause(features.mesh, kubernetes, subject, situation.unenforced) : []),
  ]
  const waiting = waitsOf({
    ...{
      mesh: features.mesh,
      subject,
      state,
      resolved,
      peers,
      desired,
      plan: planned,
      unenforced,
      waitForPods: situation.waitForPods,
    },
    ...{ running, missing, due: dueNext(planned, state) },
    unnoticed: [
      ...orphanWaits(subject, remembered, await owners(subject.namespace)),
      ...unawareBeacons(subject, state, resolved, peers),
      ...(resolved.unknown.config && state.lost !== undefined ? [configWait(subject)] : []),
    ],
  })
  // what was read just now says itself if it is refused
  const writes = Object.entries(state.refused ?? {}).filter(([name]) => !/^(GET|LIST) /.test(name))
  const held = heldOf(subject, state, {
    ...{ waiting: [...waiting, ...unpublished(subject, state, decision)], running, noRoom: decision.noRoom },
    refused: [...writes, ...refusalsOf(planned, [])],
  })
  const judgement = judge(features, subject, state, resolved, {
    ...{ running, held, desired, now },
  })
  return { state, resolved, peers, running, labels: desired.labels, ...judgement }
}

/** Lists the waits for data that the next step publishes. */
const unpublished = (subject: Subject, state: State, { next, heldOffers }: Decision): Condition[] => {
  const name = subjectName(subject)
  return Object.entries(next.relations)
    .filter(([key, { published }]) => published?.digest !== state.relations[key]?.published?.digest)
    .filter(([key]) => !heldOffers.includes(key))
    .map(([, entry]) => {
      const what = `what ${relationName(entry)} publishes to ${entry.remote.application} is not as desired`
      return waitFor([name], 'Due', relationName(entry), `${what}: the next event of ${name}, or a resync, mends it`)
    })
}

/** Lists the operations of the next step, without those whose refusal is remembered. */
const dueNext = (planned: Plan, { refused }: State): Operation[] => {
  const names = new Set(Object.keys(refused ?? {}))
  return dueIn(
    planned,
    planned.operations.flatMap(({ id, object }) => (names.has(object) ? [id] : [])),
  )
}

/** Policies of meshstep without their rules, which take most of the space. Their targets and conditions remain. */
const WITHOUT_RULES = {
  name: 'without rules',
  of: (policy: KubernetesObject): KubernetesObject | undefined =>
    isMadeByMeshstep(policy) ? { ...policy, spec: defined({ ...policy.spec, rules: undefined }) } : undefined,
}

/** Lists the beacons' policies that guard the application and that the mesh has refused or not accepted yet. */
const guardedBy = async (
  mesh: Mesh,
  kubernetes: Kubernetes,
  subject: Subject,
  policies: readonly KubernetesObject[],
  { unenforced }: Pick<Situation, 'unenforced'>,
): Promise<Unenforced[]> => {
  const own = new Set(unenforced.map(({ condition }) => condition.object))
  const objects = policies.filter(
    (policy) => policy.metadata.namespace === subject.namespace && mesh.isGuarding(policy, [subject.application]),
  )
  const configs = await meshConfigs(mesh, kubernetes, subject.namespace, { objects, witnesses: policies })
  return mesh.unenforced(objects, [...policies, ...configs]).filter(({ condition }) => !own.has(condition.object))
}

/** Tells if the mesh is involved: the application is enrolled, or policies are desired. */
const isMeshed = ({ features: { mesh }, desired: { labels, objects } }: Situation): boolean =>
  Object.hasOwn(labels.labels, mesh.enrolment.key) || objects.some(mesh.isPolicy)
