import { aboutOf, configIn } from './facts.ts'
import { ALIAS, BEACONS, COORDINATORS, NAMESPACE, namespaceOf, type Relation, sidesOf } from './fixture.ts'
import type { Platform, Word } from './platform.ts'
import type { Policy, Rules } from './reach-table.ts'

/** What the platform said last: which relations stand, with the side that was told, and which applications have a config or were removed. */
export type Truth = { relations: readonly Word[]; configs: readonly Word[] }

/** Later in the platform's order; of two at the same place the end. */
const isLater = (one: Word, other: Word): boolean =>
  one.at > other.at || (one.at === other.at && one.fact.kind === 'ended')

const lastOf = (words: readonly Word[]): Word[] => words.filter((word) => !words.some((other) => isLater(other, word)))

/**
 * The removal of an application ends the relations that it was told of before, unless either side was told since; what a document says stands
 * as long as the document.
 */
const isEnded = (last: Word, told: readonly Word[], removals: readonly Word[]): boolean =>
  last.fact.form === 'event' &&
  removals.some(
    ({ fact: { side }, at }) => at > last.at && told.some((word) => word.fact.side === side && at > word.at),
  )

const requirerOf = ({ fact }: Word): string => ('relation' in fact ? fact.relation.requirer.application : '')

/** What was told last of each relation with an id, unless it is over. */
const wordOf = (words: readonly Word[], removals: readonly Word[]): Word[] =>
  [...Map.groupBy(words, requirerOf).values()].flatMap((same) => {
    const told = same.filter(({ fact }) => fact.kind === 'told')
    return lastOf(told).filter(
      (last) =>
        !isEnded(last, told, removals) && !same.some((word) => word.fact.kind === 'ended' && isLater(word, last)),
    )
  })

/** The one relation that has an id: that which stood first keeps it until it is over. */
const holderOf = (words: readonly Word[], removals: readonly Word[]): Word[] => {
  const [first] = words
    .toSorted((one, other) => one.at - other.at)
    .reduce<readonly Word[]>((holder, _, index, all) => {
      const sofar = all.slice(0, index + 1)
      const until = all[index + 1]?.at ?? Number.POSITIVE_INFINITY
      const standing = wordOf(
        sofar,
        removals.filter(({ at }) => at < until),
      )
      const [before] = holder
      const kept = standing.filter((word) => before && requirerOf(word) === requirerOf(before))
      return kept.length > 0 ? kept : standing.slice(0, 1)
    }, [])
  return first ? wordOf(words, removals).filter((word) => requirerOf(word) === requirerOf(first)) : []
}

export const findTruth = ({ said: { words, documents } }: Platform): Truth => {
  // what another namespace is told of a relation counts there alone
  const all = [...words, ...documents.values()].filter(({ fact }) => namespaceOf(fact.side) === NAMESPACE)
  const removals = all.filter(({ fact }) => fact.kind === 'removed')
  const byThing = Map.groupBy(all, ({ fact }) => aboutOf(fact))
  const last = (isRelation: boolean, lastOfThing: (words: readonly Word[]) => Word[]) =>
    [...byThing.values()]
      .filter(([word]) => word !== undefined && 'relation' in word.fact === isRelation)
      .flatMap(lastOfThing)
  const configs = last(false, lastOf)
  const gone = configs.filter(({ fact }) => fact.kind === 'removed')
  return { relations: last(true, (words) => holderOf(words, removals)).filter((word) => outlives(word, gone)), configs }
}

/** While a side is removed, only what a document says counts, and what was told to either side since. A config brings the others back. */
const outlives = ({ fact, at }: Word, gone: readonly Word[]): boolean =>
  !('relation' in fact) ||
  fact.form === 'document' ||
  !gone.some((removal) => sidesOf(fact.relation).includes(removal.fact.side) && removal.at > at)

export const standing = ({ relations }: Truth): Relation[] =>
  relations.flatMap(({ fact }) => ('relation' in fact ? [fact.relation] : []))

export const hasConfig = ({ configs }: Truth, application: string): boolean =>
  configs.some(({ fact }) => fact.kind === 'config' && fact.side === application)

/** A removed application is back with a config, or with a relation that puts it on the mesh. */
export const isRemoved = (truth: Truth, application: string): boolean =>
  truth.configs.some(({ fact }) => fact.kind === 'removed' && fact.side === application) &&
  !standing(truth).some(({ requirer }) => requirer.application === application)

/** The config that the application has. */
const configOf = ({ configs }: Truth, application: string): Record<string, unknown> | undefined =>
  configs.flatMap(({ fact }) => (fact.kind === 'config' && fact.side === application ? [configIn(fact)] : []))[0]

/** How a beacon runs the mesh, as its config says. */
export type Mesh = { waypoint?: boolean; units?: number; hardened?: boolean; modelOnMesh?: boolean }

export const meshOf = (truth: Truth, beacon: string): Mesh | undefined =>
  configOf(truth, beacon)?.mesh as Mesh | undefined

export const hasWaypoint = ({ waypoint = true, units = 1 }: Mesh): boolean => waypoint && units > 0

/** The beacons that run a mesh and that the application is related to, the one whose labels go first before the others. */
export const beaconsOf = (truth: Truth, application: string): string[] =>
  standing(truth)
    .filter(({ interface: name, requirer }) => name === 'service_mesh' && requirer.application === application)
    .toSorted((one, other) => one.id - other.id)
    .map(({ provider }) => provider.application)
    .filter((beacon) => meshOf(truth, beacon) !== undefined)

/** Whether an application joins a mesh: by its own relation with a beacon, or by that of a coordinator. */
export const isJoining = (truth: Truth, application: string): boolean => {
  if (isRemoved(truth, application)) return false
  if (beaconsOf(truth, application).length > 0) return true
  return COORDINATORS.some((coordinator) => {
    const isWorker = standing(truth).some(
      ({ interface: name, requirer, provider }) =>
        name === 'cluster' && requirer.application === application && provider.application === coordinator,
    )
    return isWorker && hasConfig(truth, coordinator) && isJoining(truth, coordinator)
  })
}

/** Whether a beacon puts the whole namespace on the mesh. */
export const isNamespaceOnMesh = (truth: Truth): boolean =>
  BEACONS.some((beacon) => meshOf(truth, beacon)?.modelOnMesh === true)

/** Whether an application has to be on the mesh, with its own labels or with those of the namespace. */
export const isOnMesh = (truth: Truth, application: string): boolean =>
  isNamespaceOnMesh(truth) || isJoining(truth, application)

const ENROLLED = { 'istio.io/dataplane-mode': 'ambient' }

const ledTo = (beacon: string): Record<string, string> => ({
  'istio.io/use-waypoint': `${NAMESPACE}-${beacon}-waypoint`,
})

/** The labels that an application has to have: its own, then those of its beacons. */
export const labelsOf = (truth: Truth, application: string): Record<string, string> => {
  if (isRemoved(truth, application)) return {}
  const own = configOf(truth, application)?.labels as Record<string, string> | undefined
  const meshes = beaconsOf(truth, application).flatMap((beacon) => {
    const mesh = meshOf(truth, beacon) ?? {}
    if (mesh.modelOnMesh) return []
    const led = { ...ledTo(beacon), 'istio.io/use-waypoint-namespace': NAMESPACE }
    return [{ ...ENROLLED, ...(hasWaypoint(mesh) && led) }]
  })
  return Object.assign({}, ...meshes.toReversed(), own)
}

/** The labels of the mesh that the namespace has to have. */
export const namespaceLabelsOf = (truth: Truth): Record<string, string> => {
  const beacon = BEACONS.find((name) => meshOf(truth, name)?.modelOnMesh)
  if (beacon === undefined) return {}
  return {
    ...ENROLLED,
    ...(hasWaypoint(meshOf(truth, beacon) ?? {}) && ledTo(beacon)),
    'charms.canonical.com/istio.io.waypoint.managed-by': `${NAMESPACE}.${beacon}`,
  }
}

/** Who an application really is; one of another model is nobody until it says it, and an alias until then the application of that name here. */
const realName = (truth: Truth, application: string): string[] => {
  const isNamed = standing(truth).some(
    ({ interface: name, requirer }) => name === 'cross_model_mesh' && requirer.application === application,
  )
  if (application === ALIAS.name && isNamed) return [ALIAS.of]
  return isNamed || namespaceOf(application) === NAMESPACE ? [application] : []
}

/** The applications that are related to details as its clients. */
export const clientsOf = (truth: Truth): string[] => {
  const clients = standing(truth).filter(({ interface: name }) => name === 'http')
  return [...new Set(clients.flatMap(({ requirer }) => realName(truth, requirer.application)))].toSorted()
}

/** The policies that an application's config declares; those that follow from its relations let each client use the Service. */
export const policiesOf = (truth: Truth, application: string): readonly Policy[] => {
  const { policies = [] } = configOf(truth, application) ?? {}
  return policies === 'related' ? [{ type: 'app' }] : (policies as Policy[])
}

/** What decides who reaches details, where it is on the mesh. */
export const rulesOf = (truth: Truth): Rules => {
  const meshes = BEACONS.flatMap((beacon) => meshOf(truth, beacon) ?? [])
  const joined = beaconsOf(truth, 'details').flatMap((beacon) => meshOf(truth, beacon) ?? [])
  const leading = isJoining(truth, 'details') ? joined : meshes.filter(({ modelOnMesh }) => modelOnMesh)
  return {
    policies: isJoining(truth, 'details') ? policiesOf(truth, 'details') : [],
    clients: clientsOf(truth),
    isHardened: meshes.some(({ hardened }) => hardened),
    hasWaypoint: leading.some(hasWaypoint),
  }
}

/** The applications that details lets in, where it joins the mesh. */
export const findClients = (truth: Truth): string[] => {
  const { policies, hasWaypoint: isLed } = rulesOf(truth)
  return policies.some(({ type }) => isLed || type === 'unit') ? clientsOf(truth) : []
}
