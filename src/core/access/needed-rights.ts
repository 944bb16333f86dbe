import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../platform/base/own-value.ts'
import type { RemoteName, Subject } from '../../platform/base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Effect, Use } from '../feature/feature.ts'
import type { Config } from '../state/config.ts'
import { configsIn, type State } from '../state/state.ts'
import type { About } from './access-reviews.ts'

/** The parts of a state that may affect other applications. */
export type Said = Pick<State, 'config' | 'pending' | 'removed'> & {
  readonly relations: Readonly<Record<string, { readonly remote: RemoteName }>>
}

export const NOTHING_SAID: Said = { relations: {} }

/**
 * Lists the rights that a change of an application needs, in addition to the application itself. It needs each newly requested effect, now
 * or once its unit is elected, with the other owners' objects that the effect uses. In the same namespace, where both sides merge
 * announcements, it needs the peer of each relation that begins, changes or ends. To drop an effect completely, or to remove the
 * application, needs no further right. Any other change of an effect does.
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
  const known = configsIn(before).flatMap(partsOf)
  const isNew = (config: Config, effect: Effect): boolean =>
    partsOf(config).some(
      ({ [effect]: part }) =>
        part !== undefined && !known.some(({ [effect]: other }) => isDeepStrictEqual(other, part)),
    )
  const asked = configsIn(after)
  // a sender that changes pods of an account can act as that account
  const uses: Use[] = asked.flatMap((config) => (isNew(config, 'workload') ? features.uses(subject, config) : []))
  return [
    ...EFFECTS.filter((effect) => asked.some((config) => isNew(config, effect))).map((effect) => ({
      ...subject,
      effect,
    })),
    ...uses.map((use) => ({ ...subject, use })),
  ]
}

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
