import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Effect, Use } from '../feature/feature.ts'
import type { Config } from '../state/config.ts'
import { pendingIn } from '../state/pending.ts'
import type { State } from '../state/state.ts'

const EFFECTS: readonly Effect[] = ['workload', 'policies', 'mesh', 'root']

/**
 * Finds the effects that a change asks for anew, now or once its unit is elected. The sender of the change needs a permission for each;
 * asking for less needs none.
 */
export const newEffects = (
  features: Pick<Features, 'effects'>,
  subject: Subject,
  before: State,
  after: State,
): Effect[] => {
  if (before.config === after.config && before.pending === after.pending) return []
  const askedIn = (state: State) => presentConfigs(state).flatMap((config) => features.effects(subject, config))
  const known = askedIn(before)
  const asked = askedIn(after)
  return EFFECTS.filter((effect) =>
    asked.some(
      ({ [effect]: part }) =>
        part !== undefined && !known.some(({ [effect]: other }) => isDeepStrictEqual(other, part)),
    ),
  )
}

/** Finds what the configs use whose effect `workload` is asked for anew: whoever changes what runs as an account runs as it. */
export const newUses = (
  features: Pick<Features, 'effects' | 'uses'>,
  subject: Subject,
  before: State,
  after: State,
): Use[] => {
  if (before.config === after.config && before.pending === after.pending) return []
  const workloadsOf = (config: Config) => features.effects(subject, config).map(({ workload }) => workload)
  const known = presentConfigs(before).flatMap(workloadsOf)
  const isNew = (part: unknown) => part !== undefined && !known.some((other) => isDeepStrictEqual(other, part))
  return presentConfigs(after)
    .filter((config) => workloadsOf(config).some(isNew))
    .flatMap((config) => features.uses(subject, config))
}

const presentConfigs = ({ config, pending }: Pick<State, 'config' | 'pending'>): Config[] =>
  [config, ...pendingIn({ pending }).map(({ data }) => data.config)].filter((one) => one !== undefined)
