import { defined } from '../../platform/base/own-value.ts'
import type { SpecSource } from '../state/config.ts'
import type { Relation } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import type { RemoteDatabag } from './churn/echoes.ts'
import { type EphemeralValues, findEphemeral } from './churn/ephemeral-values.ts'
import { type ConfigChurn, judgeConfig } from './churn/history.ts'
import { knownEphemeralValues } from './churn/known-values.ts'
import { DEFAULT_CHURN } from './churn/limit.ts'
import { stringLeaves } from './churn/string-leaves.ts'
import { effectiveDeployment, ownWorkload, type PodWorkload } from './config.ts'
import { isSecret, referredKeys } from './secrets.ts'

/** The parts of a memory that the judgement of a config depends on. */
type ConfigMemory = Pick<State, 'config' | 'configChurn' | 'units'>

/** The relations with their effective data, as context for the judgement of a config. */
type Relations = Readonly<Record<string, Relation>>

/** A config that arrives: its application, its sender, and the context of its judgement. `relations` is called only for a unit's config. */
export type Arrival = {
  readonly application: string
  readonly by: SpecSource
  readonly now: Date
  readonly relations: () => Relations
}

/** Accepts the config that arrived after `before`. Parts that units change too often stay as they were. */
export const withAcceptedConfig = <M extends ConfigMemory>(before: ConfigMemory, after: M, arrival: Arrival): M => {
  const { config: told, units } = after
  // a config is judged when it arrives, not at every change of the memory
  if (told === before.config) return after
  const { application, by, now } = arrival
  if (told === undefined) return defined({ ...after, configChurn: undefined })
  const relations = by === 'unit' ? arrival.relations() : {}
  const { config, history } = judgeConfig(after.configChurn, {
    ...{ before: before.config, told, by, now },
    databags: remoteDatabags(relations),
    known: knownValues(relations, units, told, application),
    churn: told.churn ?? DEFAULT_CHURN,
  })
  const keys = referredKeys(ownWorkload(told), application)
  return defined({ ...after, config, configChurn: history && withHeldKeys(history, keys) })
}

/** Keeps the secret keys of a held-back workload, so that the same values are recognized when they are sent again. */
const withHeldKeys = (history: ConfigChurn, keys: readonly string[]): ConfigChurn => {
  const { workload } = history
  if (workload?.held === undefined || keys.length === 0) return history
  return { ...history, workload: { ...workload, held: { ...workload.held, keys: [...keys] } } }
}

/** The parts of a memory that warnings depend on. */
type WarnedMemory = {
  readonly config?: { readonly workload?: object | null | undefined } | undefined
  readonly relations: Relations
  readonly units: State['units']
}

/** Warns of ephemeral values in the spec, each of which changes the spec when it changes, and of secret values that stay in plain text. */
export const specWarnings = ({ config, relations, units }: WarnedMemory, application: string): string[] => {
  const workload = ownWorkload(config)
  if (workload === undefined) return []
  const found = findEphemeral(stringLeaves(workload.podSpec), knownValues(relations, units, config, application))
  return [
    ...found.map((what) => `${what}: the spec changes whenever that does; name a Service, or leave it out`),
    ...secretWarnings(workload),
  ]
}

const remoteDatabags = (relations: Relations): RemoteDatabag[] =>
  Object.values(relations).map(({ remote: { application, namespace, data, units = {} } }) => ({
    application: namespace === undefined ? application : `${namespace}/${application}`,
    data: { data, units },
  }))
/** Warns of secret values that cannot be moved to a Secret, because more people may read a ConfigMap. */
const secretWarnings = ({ podSpec: { containers, initContainers = [] }, secretEnv }: PodWorkload): string[] =>
  [...containers, ...initContainers].flatMap(({ name, env = [] }) =>
    env
      .filter(({ name: variable, value }) => value && isSecret(variable, value, secretEnv))
      .map(
        ({ name: variable }) =>
          `the value of ${variable} in container ${name} is kept in ConfigMaps as plain text, because Kubernetes replaces $(NAME) only there. Put its secret part into a variable of its own`,
      ),
  )

const knownValues = (
  relations: Relations,
  units: State['units'],
  config: WarnedMemory['config'],
  application: string,
): EphemeralValues => {
  const workload = ownWorkload(config)
  return knownEphemeralValues({
    application,
    type: workload ? effectiveDeployment(workload).type : 'stateless',
    units,
    remotes: Object.values(relations).map(({ remote }) => remote),
  })
}
