import type { SpecSource } from '../state/config.ts'
import type { Relation } from '../state/relation.ts'
import type { Units } from '../units/units.ts'
import { type Churn, DEFAULT_CHURN } from './churn/config.ts'
import type { RemoteDatabag } from './churn/echoes.ts'
import { type EphemeralValues, findEphemeral } from './churn/ephemeral-values.ts'
import { observeSpec, type SpecHistory } from './churn/history.ts'
import { knownEphemeralValues } from './churn/known-values.ts'
import { stringLeaves } from './churn/string-leaves.ts'
import { effectiveDeployment, ownWorkload, type PodWorkload } from './config.ts'
import { isSecret } from './secrets.ts'

/** The part of a memory that an application's workload depends on. */
export type WorkloadMemory = {
  readonly config?: { readonly workload?: object | null | undefined; readonly churn?: Churn | undefined } | undefined
  readonly relations: Readonly<Record<string, Relation>>
  readonly units: Units
  readonly specs?: SpecHistory | undefined
}

/** Updates the history of specs from the config of the memory; undefined without a workload of ours. */
export const specsAfter = (
  memory: WorkloadMemory,
  application: string,
  by: SpecSource,
  now: Date,
): SpecHistory | undefined => {
  const workload = ownWorkload(memory.config)
  if (workload === undefined) return undefined
  const known = knownValues(memory, workload, application)
  const churn = memory.config?.churn ?? DEFAULT_CHURN
  return observeSpec(memory.specs, { spec: workload.podSpec, by, databags: remoteDatabags(memory), known, churn, now })
}

/** The workload to run: the config's, with the last accepted spec. */
export const acceptedWorkload = (memory: WorkloadMemory): PodWorkload | undefined => {
  const workload = ownWorkload(memory.config)
  return workload && { ...workload, podSpec: memory.specs?.spec ?? workload.podSpec }
}

/** Warns of ephemeral values in the spec, each of which changes the spec when it changes, and of secret values. */
export const specWarnings = (memory: WorkloadMemory, application: string): string[] => {
  const workload = ownWorkload(memory.config)
  if (workload === undefined) return []
  const found = findEphemeral(stringLeaves(workload.podSpec), knownValues(memory, workload, application))
  return [
    ...found.map((what) => `${what}: the spec changes whenever that does; name a Service, or leave it out`),
    ...secretWarnings(workload),
  ]
}

const remoteDatabags = ({ relations }: WorkloadMemory): RemoteDatabag[] =>
  Object.values(relations).map(({ remote: { application, namespace, data, units = {} } }) => ({
    application: namespace === undefined ? application : `${namespace}/${application}`,
    data: { data, units },
  }))
/** The memory is a ConfigMap, which more people may read than a Secret. */
const secretWarnings = ({ podSpec: { containers, initContainers = [] }, secretEnv }: PodWorkload): string[] =>
  [...containers, ...initContainers].flatMap(({ name, env = [] }) =>
    env
      .filter(({ name: variable, value }) => value && isSecret(variable, value, secretEnv))
      .map(
        ({ name: variable }) =>
          `the value of ${variable} in container ${name} is kept in ConfigMaps: $(NAME) in it is replaced by Kubernetes, and only there. Compose it of a variable that is a secret of its own`,
      ),
  )

const knownValues = (
  { relations, units }: WorkloadMemory,
  workload: PodWorkload,
  application: string,
): EphemeralValues =>
  knownEphemeralValues({
    application,
    type: effectiveDeployment(workload).type,
    units,
    remotes: Object.values(relations).map(({ remote }) => remote),
  })
