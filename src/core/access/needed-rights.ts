import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Effect, Use } from '../feature/feature.ts'
import { pendingIn } from '../state/awaiting-leader.ts'
import type { Config } from '../state/config.ts'
import type { State } from '../state/state.ts'
import type { About } from './access-reviews.ts'

/** The part of what is said of an application by which others may be concerned. */
export type Said = Pick<State, 'config' | 'pending' | 'removed'> & {
  readonly relations: Readonly<
    Record<string, { readonly remote: { readonly application: string; readonly namespace?: string | undefined } }>
  >
}

export const NOTHING_SAID: Said = { relations: {} }

/**
 * Lists what RBAC is asked about on behalf of whoever changes what is said of an application, beyond the application itself: each effect that
 * is asked for anew, now or once its unit is elected, with the objects of others that it uses, and the other side of each relation that
 * begins, changes or ends, where that goes by the same word, in the same namespace. Dropping an effect altogether needs none, and neither does the
 * removal of the application; any other change of an effect is asked about.
 */
export const neededRights = (
  features: Pick<Features, 'effects' | 'uses'>,
  subject: Subject,
  before: Said,
  after: Said,
): About[] => [
  ...ofConfigs(features, subject, before, after),
  ...otherSides(before, after).map((application) => ({ namespace: subject.namespace, application })),
]

const EFFECTS: readonly Effect[] = ['workload', 'policies', 'mesh', 'root']

const ofConfigs = (
  features: Pick<Features, 'effects' | 'uses'>,
  subject: Subject,
  before: Said,
  after: Said,
): About[] => {
  if (before.config === after.config && before.pending === after.pending) return []
  const partsOf = (config: Config) => features.effects(subject, config)
  const known = presentConfigs(before).flatMap(partsOf)
  const isNew = (config: Config, effect: Effect): boolean =>
    partsOf(config).some(
      ({ [effect]: part }) =>
        part !== undefined && !known.some(({ [effect]: other }) => isDeepStrictEqual(other, part)),
    )
  const asked = presentConfigs(after)
  // whoever changes what runs as an account runs as it
  const uses: Use[] = asked.flatMap((config) => (isNew(config, 'workload') ? features.uses(subject, config) : []))
  return [
    ...EFFECTS.filter((effect) => asked.some((config) => isNew(config, effect))).map((effect) => ({
      ...subject,
      effect,
    })),
    ...uses.map((use) => ({ ...subject, use })),
  ]
}

const presentConfigs = ({ config, pending }: Said): Config[] =>
  [config, ...pendingIn({ pending }).map(({ data }) => data.config)].filter((one) => one !== undefined)

const otherSides = (before: Said, after: Said): string[] => {
  const isRemoved = after.removed !== undefined && after.removed !== before.removed
  if (isRemoved || before.relations === after.relations) return []
  const keys = [...new Set([before, after].flatMap(({ relations }) => Object.keys(relations)))]
  const sides = keys.flatMap((key) => {
    const [one, other] = [ownValue(before.relations, key), ownValue(after.relations, key)]
    return isDeepStrictEqual(one, other) ? [] : [one, other].flatMap((entry) => entry?.remote ?? [])
  })
  return [...new Set(sides.flatMap(({ application, namespace }) => (namespace === undefined ? [application] : [])))]
}
