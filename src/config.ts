import * as z from 'zod'
import { ObjectName } from './base/names.ts'
import { CoordinatorConfig, WorkerConfig } from './coordinated-workers/config.ts'
import { CustomMeshPolicy, Enforcement, MeshConfig, RawPolicy, ServiceAccounts, TrustDomain } from './istio/config.ts'
import { Policy } from './istio/models.ts'
import { policyProblems } from './istio/validation.ts'
import { Versions } from './relations/versions.ts'
import { Services } from './services/provided.ts'
import { Databags } from './state/relation.ts'
import { LeaderSettings } from './units/leader-settings.ts'
import { Churn } from './workload/churn/config.ts'
import { workloadOf } from './workload/config.ts'
import { givenProblems } from './workload/given.ts'

/** What a charm's author writes in code, here data. Every part is optional, unknown keys are errors. */
export const Config = z.strictObject({
  /**
   * The workload to label, by kind and name, or one that is ours to deploy, by its `podSpec`. Null for none. Found by the application's
   * name when absent: a StatefulSet, else a Deployment.
   */
  workload: workloadOf(z.strictObject({ kind: z.enum(['StatefulSet', 'Deployment']), name: ObjectName }))
    .nullable()
    .optional(),
  /** The Service to label; null for none. @default the application's name */
  service: ObjectName.nullable().optional(),
  /** `rolling` labels the pod template, which restarts the pods; `in-place` labels the running pods. @default rolling */
  enrolment: z.enum(['rolling', 'in-place']).optional(),
  /** Labels to hold besides the mesh's. Each is checked on its own, so that a bad one does not stop the others. */
  labels: z.record(z.string(), z.unknown()).optional(),
  /** Who may talk to the application, in terms of its relations. A beacon grants it. */
  policies: z.array(Policy).optional(),
  /** Granted by the application itself, without a beacon. */
  meshPolicies: z.array(CustomMeshPolicy).optional(),
  /** AuthorizationPolicies to hold as they are, besides. */
  rawPolicies: z.array(RawPolicy).optional(),
  /** `audit` writes policies as dry runs, the application's own and, by its beacon, those that it asks for. @default enforce */
  enforcement: Enforcement.optional(),
  /** Makes the application a beacon. */
  mesh: MeshConfig.optional(),
  /** Makes the application the coordinator of a cluster of workers. */
  coordinator: CoordinatorConfig.optional(),
  /** Makes the application a worker of such a cluster. */
  worker: WorkerConfig.optional(),
  /** The Services that are offered over relations of `k8s-service`, by endpoint. */
  services: Services.optional(),
  /** The application's own settings, for its units to read: they go before its leader's. */
  settings: LeaderSettings.optional(),
  /** What it says in its relations besides their protocols, by endpoint: it goes before what its leader says. */
  databag: Databags.optional(),
  /** How often units may change the pod spec before that is a loop. @default 5 changes of one place in 30 minutes */
  churn: Churn.optional(),
  /** Holds the application back to versions of a protocol, by interface. */
  versions: Versions.optional(),
  /** Of the identities in this application's own policies. @default that of `mesh`, else cluster.local */
  trustDomain: TrustDomain.optional(),
  serviceAccounts: ServiceAccounts.optional(),
})
export type Config = z.infer<typeof Config>

/** A config as it is given, with no policy that Istio refuses, and no workload without pods. One that is remembered is read as it is. */
export const GivenConfig = Config.superRefine(({ rawPolicies = [], workload }, context) => {
  for (const { path, message } of givenProblems({ workload }))
    context.addIssue({ code: 'custom', path: ['workload', ...path], message })
  for (const [index, policy] of rawPolicies.entries())
    for (const { path, message } of policyProblems(policy))
      context.addIssue({ code: 'custom', path: ['rawPolicies', index, ...path], message })
})
