import * as z from 'zod'
import type { Subject } from '../../platform/base/subject.ts'
import type { LabelTarget } from '../../platform/kubernetes/label-target.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { withVersionsSaved } from '../relations/offers/published-version.ts'
import type { ResolvedRelations } from '../relations/resolve-relations.ts'
import { type ConfigDocument, configDocument } from '../relations/told/documents.ts'
import { labelsThatStay } from '../relations/unknown.ts'
import { type Config, commonConfig } from '../state/config.ts'
import { createMemories, type Memories } from '../state/memory.ts'
import type { OwnedKind } from '../state/owned-kinds.ts'
import { commonState, type StateParts } from '../state/state.ts'
import type { ApplicationStatus } from '../units/report.ts'
import type { Contribution, DesiredLabels, Effect, Feature, FeatureInput, Related } from './feature.ts'
import type { Mesh } from './mesh.ts'

/** The hooks of a feature that have the same form when features are combined. */
type Combined = Required<
  Pick<
    Feature,
    | 'uses'
    | 'leftovers'
    | 'labels'
    | 'publications'
    | 'keeps'
    | 'withdrawsNothing'
    | 'dependsOnUnits'
    | 'derive'
    | 'plan'
    | 'announcements'
    | 'announced'
    | 'unmet'
  >
>

/** The combined features, in order of precedence. */
export type Features = Combined & {
  readonly mesh: Mesh
  /** The schema of a config in memory: every key is optional, unknown keys are errors. */
  readonly config: z.ZodType<Config>
  /** The schema of a config as sent, with all checks. */
  readonly givenConfig: z.ZodType<Config>
  /** The schema of a document with such a config. */
  readonly configDocument: ConfigDocument
  readonly parts: StateParts
  readonly memories: Memories
  effects(subject: Subject, config: Config): readonly Partial<Record<Effect, unknown>>[]
  targets(application: string, config?: Config): LabelTarget[]
  services(application: string, config?: Config): string[]
  kinds(state: Related): OwnedKind[]
  lookups(subject: Subject, resolved: ResolvedRelations, seen: Lookups): Reference[]
  desire(input: FeatureInput): readonly Contribution[]
  reports(subject: Subject, resolved: ResolvedRelations): ApplicationStatus[]
}

/** Combines features, in order of precedence, over a mesh. */
export const combine = (features: readonly Feature[], mesh: Mesh): Features => {
  const config: z.ZodType<Config> = z.strictObject({
    ...Object.assign({}, ...features.map((feature) => feature.config)),
    ...commonConfig,
  })
  const givenConfig = config.superRefine((given, context) => {
    for (const { path, message } of features.flatMap((feature) => feature.problems?.(given) ?? []))
      context.addIssue({ code: 'custom', path: [...path], message })
  })
  const parts: StateParts = { ...commonState(config), ...Object.assign({}, ...features.map(({ state }) => state)) }
  const targets = (application: string, given: Config = {}) => [
    ...features.flatMap((feature) => feature.targets?.(application, given) ?? []),
    ...services(application, given).map((name) => ({ kind: 'Service' as const, name })),
  ]
  const services = (application: string, given: Config = {}) =>
    features.flatMap((feature) => feature.services?.(application, given) ?? [])
  return {
    mesh,
    config,
    givenConfig,
    configDocument: configDocument(givenConfig),
    parts,
    memories: withVersionsSaved(createMemories(parts)),
    leftovers: (...asked) => features.flatMap((feature) => feature.leftovers?.(...asked) ?? []),
    effects: (subject, given) => features.flatMap((feature) => feature.effects?.(subject, given) ?? []),
    uses: (subject, given) => features.flatMap((feature) => feature.uses?.(subject, given) ?? []),
    targets,
    services,
    kinds: (state) => [...new Set(features.flatMap((feature) => feature.kinds?.(state) ?? []))],
    lookups: (...asked) => features.flatMap((feature) => feature.lookups?.(...asked) ?? []),
    labels: (subject, resolved) =>
      joinLabels(
        features.flatMap((feature) => feature.labels?.(subject, resolved) ?? []),
        labelsThatStay(resolved.unknown),
      ),
    desire: (input) => features.flatMap((feature) => feature.desire?.(input) ?? []),
    publications: (input) =>
      // if two features publish in one relation, the first counts
      Object.assign({}, ...features.map((feature) => feature.publications?.(input)).toReversed()),
    keeps: (resolved, relation) => features.some((feature) => feature.keeps?.(resolved, relation)),
    withdrawsNothing: (state, relation) => features.some((feature) => feature.withdrawsNothing?.(state, relation)),
    dependsOnUnits: (state) => features.some((feature) => feature.dependsOnUnits?.(state)),
    derive: (state, derivation) =>
      features.reduce((next, feature) => feature.derive?.(next, derivation) ?? next, state),
    plan: (state, resolved, now) =>
      features.reduce((next, feature) => feature.plan?.(next, resolved, now) ?? next, state),
    announcements: (subject, state) =>
      features
        .flatMap((feature) => feature.announcements?.(subject, state) ?? [])
        .toSorted((one, other) => one.number - other.number),
    announced: (state, numbers) =>
      features.reduce((next, feature) => feature.announced?.(next, numbers) ?? next, state),
    reports: (subject, resolved) => features.flatMap((feature) => feature.reports?.(subject, resolved) ?? []),
    unmet: async (...asked) =>
      (await Promise.all(features.map(async (feature) => (await feature.unmet?.(...asked)) ?? []))).flat(),
  }
}

/** Joins desired labels, and those that stay. If two features desire different values of a key, the first counts. */
const joinLabels = (all: readonly DesiredLabels[], staying: DesiredLabels['unknown']): DesiredLabels => ({
  labels: Object.assign({}, ...all.map(({ labels }) => labels).toReversed()),
  unknown: joinUnknown([...all.map(({ unknown }) => unknown), staying]),
  messages: all.flatMap(({ messages }) => messages),
  overruled: all.flatMap(({ overruled = [] }) => overruled),
  refused: all.flatMap(({ refused = [] }) => refused),
  required: all.some(({ required }) => required),
})

const joinUnknown = (all: readonly DesiredLabels['unknown'][]): DesiredLabels['unknown'] => {
  const listed = all.filter((one) => one !== 'all')
  return listed.length < all.length ? 'all' : listed.flat()
}
