import { aboutOf } from './facts.ts'
import type { Relation } from './fixture.ts'
import type { Platform, Word } from './platform.ts'

/** What the platform said last: which relations stand, with the side that was told, and which applications have a config or were removed. */
export type Truth = { relations: readonly Word[]; configs: readonly Word[] }

/** Later in the platform's order; of two at the same place the end. */
const isLater = (one: Word, other: Word): boolean =>
  one.at > other.at || (one.at === other.at && one.fact.kind === 'ended')

const lastOf = (words: readonly Word[]): Word[] => words.filter((word) => !words.some((other) => isLater(other, word)))

/** The removal of an application ends what its platform told it before; what a document says stands as long as the document. */
const isEnded = (word: Word, removals: readonly Word[]): boolean =>
  word.fact.form === 'event' && removals.some(({ fact, at }) => fact.side === word.fact.side && at > word.at)

const requirerOf = ({ fact }: Word): string => ('relation' in fact ? fact.relation.requirer.application : '')

/** What was told last of each relation with an id, unless it is over. */
const standingOf = (words: readonly Word[], removals: readonly Word[]): Word[] =>
  [...Map.groupBy(words, requirerOf).values()].flatMap((same) =>
    lastOf(same.filter(({ fact }) => fact.kind === 'told')).filter(
      (told) => !isEnded(told, removals) && !same.some((word) => word.fact.kind === 'ended' && isLater(word, told)),
    ),
  )

/** The one relation that has an id: that which stood first keeps it until it is over. */
const holderOf = (words: readonly Word[], removals: readonly Word[]): Word[] => {
  const [first] = words
    .toSorted((one, other) => one.at - other.at)
    .reduce<readonly Word[]>((holder, _, index, all) => {
      const sofar = all.slice(0, index + 1)
      const until = all[index + 1]?.at ?? Number.POSITIVE_INFINITY
      const standing = standingOf(
        sofar,
        removals.filter(({ at }) => at < until),
      )
      const [before] = holder
      const kept = standing.filter((word) => before && requirerOf(word) === requirerOf(before))
      return kept.length > 0 ? kept : standing.slice(0, 1)
    }, [])
  return first ? standingOf(words, removals).filter((word) => requirerOf(word) === requirerOf(first)) : []
}

export const findTruth = ({ said: { words, documents } }: Platform): Truth => {
  const all = [...words, ...documents.values()]
  const removals = all.filter(({ fact }) => fact.kind === 'removed')
  const byThing = Map.groupBy(all, ({ fact }) => aboutOf(fact))
  const last = (isRelation: boolean, lastOfThing: (words: readonly Word[]) => Word[]) =>
    [...byThing.values()]
      .filter(([word]) => word !== undefined && 'relation' in word.fact === isRelation)
      .flatMap(lastOfThing)
  return { relations: last(true, (words) => holderOf(words, removals)), configs: last(false, lastOf) }
}

export const standing = ({ relations }: Truth): Relation[] =>
  relations.flatMap(({ fact }) => ('relation' in fact ? [fact.relation] : []))

export const hasConfig = ({ configs }: Truth, application: string): boolean =>
  configs.some(({ fact }) => fact.kind === 'config' && fact.side === application)

/** A relation that puts the application on the mesh, told by its own platform since, or by a document, which counts for as long as it is there. */
const outlives = ({ fact, at }: Word, application: string, removed: number): boolean =>
  fact.kind === 'told' &&
  fact.relation.requirer.application === application &&
  (fact.form === 'document' || (fact.side === application && at > removed))

/** A removed application is back with a config; without one the relations count that outlive the removal. */
const isRemoved = ({ configs, relations }: Truth, application: string): boolean =>
  configs.some(
    ({ fact, at }) =>
      fact.kind === 'removed' &&
      fact.side === application &&
      !relations.some((word) => outlives(word, application, at)),
  )

/** Whether an application has to be on the mesh: by its own relation with the beacon, or by that of its coordinator. */
export const isOnMesh = (truth: Truth, application: string): boolean => {
  if (!hasConfig(truth, 'beacon') || isRemoved(truth, application)) return false
  const relations = standing(truth)
  const isConsumer = relations.some(
    ({ interface: name, requirer }) => name === 'service_mesh' && requirer.application === application,
  )
  const isWorker = relations.some(
    ({ interface: name, requirer }) => name === 'cluster' && requirer.application === application,
  )
  const isInCluster = isWorker && hasConfig(truth, 'tempo')
  return isConsumer || (isInCluster && isOnMesh(truth, 'tempo'))
}

/** The applications that details lets in, where it is on the mesh. */
export const findClients = (truth: Truth): string[] => {
  if (!isOnMesh(truth, 'details') || !hasConfig(truth, 'details')) return []
  const clients = standing(truth).filter(({ interface: name }) => name === 'http')
  return [...new Set(clients.map(({ requirer }) => requirer.application))].toSorted()
}
