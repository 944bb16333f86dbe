import type { Write } from './excluded.ts'
import { configIn, type Fact } from './facts.ts'
import { ALIAS, BEACONS, COORDINATORS, NAMESPACE } from './fixture.ts'
import { isMemoryDeleted, type Platform, type Word } from './platform.ts'
import type { KubernetesObject } from './process.ts'
import { mayPass, type Request, type Rules } from './reach-table.ts'
import {
  beaconsOf,
  clientsOf,
  findTruth,
  hasConfig,
  hasWaypoint,
  isJoining,
  type Mesh,
  meshOf,
  policiesOf,
  type Truth,
} from './truth.ts'
import type { World } from './world.ts'

const PRINCIPAL = /(?<=\/sa\/)[-a-z0-9]+/g

/** The identities that an ALLOW policy names. */
export const principalsIn = ({ spec }: KubernetesObject): string[] =>
  (spec?.action ?? 'ALLOW') === 'ALLOW' ? [...new Set(JSON.stringify(spec).match(PRINCIPAL) ?? [])] : []

/** The labels on a workload's template, or on the object itself. */
export const labelsOn = ({ kind, metadata, spec }: KubernetesObject): Record<string, string> => {
  const template = spec?.template as { metadata?: { labels?: Record<string, string> } } | undefined
  return (kind === 'StatefulSet' ? template?.metadata?.labels : metadata.labels) ?? {}
}

/** Identities that need no relation: those of waypoints and of beacons, and a coordinator within its own cluster. */
export const OWN: readonly string[] = [
  ...BEACONS.map((beacon) => `${NAMESPACE}-${beacon}-waypoint`),
  ...BEACONS,
  ...COORDINATORS,
]

/** What holds in the cluster beside the words of the platform. */
export type Moment = {
  /** The policies of hardened mode stand. */
  readonly isDenying: boolean
  /** Other policies stand, or did before the write. */
  readonly isGuarded: boolean
  /** The labels of the namespace keep its pods on the mesh. */
  readonly isNamespaceOnMesh: boolean
}

/** What must be known of the platform's words by now: everybody who runs has started after them. */
export type Knowledge = {
  /** Whoever has been related to details, and that has had its config, for as long as anything runs. */
  clients(): string[]
  /** The beacons that run a mesh and that details is related to. */
  beacons(): string[]
  /** Whether details has declared its policies for as long. */
  isDeclaring(): boolean
  /** Whether details has belonged on the mesh for as long. */
  isEnrolled(): boolean
  /** Whether the memory of details has lost what it declared, and nobody has declared anything since; what others forget opens nothing. */
  isForgotten(): boolean
  /** Whether a request of a client passes by all that anybody who runs may go by. */
  mustPass(request: Request): boolean
  /** Whether a request of a stranger passes by anything that anybody who runs may go by, in a cluster as it is at a moment. */
  mayPassStranger(request: Request, moment: Moment): boolean
  /** What a person with kubectl has to do with a write at this moment. */
  byHand(): Pick<Write, 'isByHand' | 'isOvertaken' | 'isUndone' | 'isMended' | 'isOutdated'>
}

export const createKnowledge = (world: World, platform: Platform): Knowledge => {
  /** Nothing about it is under way: all was answered, and whoever runs has started since. */
  const isStable = (about: string): boolean => {
    const changed = platform.said.changed.get(about)
    const isAnswered = platform.said.letters.every((letter) => letter.about !== about || letter.isAnswered)
    const running = [...world.actors, ...world.late]
    return changed !== undefined && isAnswered && running.every(({ started }) => started > changed)
  }

  /** What another side was told is known to details once all nudges have come; so is what it was told itself, where its memory may be deleted. */
  const isKnown = (id: number, side: string): boolean => {
    const about = `relation/${id}`
    const isTold = side === 'details' && !isMemoryDeleted(platform.said, side)
    return isStable(about) && (isTold || world.quietSince() > (platform.said.changed.get(about) ?? 0))
  }

  /** How a beacon may run the mesh for those who run now: as its last config says, or while that is under way as any config did. */
  const meshesOf = (beacon: string, truth: Truth): (Mesh | undefined)[] => {
    const current = meshOf(truth, beacon)
    if (isStable(`config/${beacon}`)) return [current]
    const said = platform.said.facts.flatMap((fact) =>
      fact.kind === 'config' && fact.side === beacon ? [configIn(fact).mesh as Mesh | undefined] : [],
    )
    return [undefined, current, ...said]
  }

  /** All that the beacons may run together. */
  const settings = (truth: Truth): Mesh[][] =>
    BEACONS.reduce<Mesh[][]>(
      (before, beacon) =>
        before.flatMap((others) => meshesOf(beacon, truth).map((mesh) => [...others, ...(mesh ? [mesh] : [])])),
      [[]],
    )

  /** Whether a beacon was told to deny all that no policy lets in. */
  const wasHardened = (): boolean =>
    platform.said.facts.some((fact) => fact.kind === 'config' && (configIn(fact).mesh as Mesh | undefined)?.hardened)

  const isForgotten = (): boolean => {
    const last = (...kinds: readonly Fact['kind'][]) =>
      platform.said.facts.findLastIndex(({ kind, side }) => side === 'details' && kinds.includes(kind))
    return last('forgotten', 'restored') > last('config')
  }

  /** Without a moment the rules are those for clients. */
  const rules = (moment?: Moment): Rules[] => {
    const truth = findTruth(platform)
    const policies = policiesOf(truth, 'details')
    const clients = clientsOf(truth)
    // where nothing but the namespace keeps it on the mesh, nobody lets its clients in, and nothing guards it but what denies all, the last of all
    const isOpen = !isEnrolled() && moment?.isNamespaceOnMesh !== false
    // whoever takes hardened mode or a waypoint out opens what no policy guards, and those of a lost config are not known
    const isUnguarded = moment !== undefined && isForgotten() && (wasHardened() || !moment.isGuarded)
    return settings(truth).flatMap((meshes) => {
      const isHardened = moment?.isDenying !== false && meshes.some(({ hardened }) => hardened)
      const waypoints = meshes.length === 0 ? [true] : [...new Set(meshes.map(hasWaypoint))]
      return waypoints.flatMap((led) => [
        { policies, clients, isHardened, hasWaypoint: led },
        ...(isUnguarded ? [{ policies: [], clients, isHardened, hasWaypoint: led }] : []),
        // the labels that stand may be those of an earlier config, without a waypoint
        ...(isOpen
          ? [isHardened, false].flatMap((hard) =>
              [led, false].map((isLed) => ({ policies: [], clients, isHardened: hard, hasWaypoint: isLed })),
            )
          : []),
      ])
    })
  }

  /** Whether a word on who a name of another model is, also on its end, is on its way. */
  const isBeingNamed = (): boolean =>
    platform.said.facts.some(
      (fact) =>
        'relation' in fact &&
        fact.relation.interface === 'cross_model_mesh' &&
        fact.relation.requirer.application === ALIAS.name &&
        !isStable(`relation/${fact.relation.id}`),
    )

  const isEnrolled = () => {
    const truth = findTruth(platform)
    const isMesh = ({ fact }: Word) =>
      fact.kind === 'told' &&
      fact.relation.interface === 'service_mesh' &&
      fact.relation.requirer.application === 'details' &&
      isKnown(fact.relation.id, fact.side) &&
      isStable(`config/${fact.relation.provider.application}`) &&
      meshOf(truth, fact.relation.provider.application) !== undefined
    return isJoining(truth, 'details') && truth.relations.some(isMesh)
  }

  const isDeclaring = () => isStable('config/details') && hasConfig(findTruth(platform), 'details')

  return {
    isDeclaring,
    beacons: () => beaconsOf(findTruth(platform), 'details'),
    byHand: () => {
      const { isOutdated, byHand } = platform.said
      const { serial, undone, isMended } = byHand
      const isOvertaken = serial > 0 && [...world.actors, ...world.late].some(({ started }) => started < serial)
      return { isByHand: platform.isWritingByHand(), isOvertaken, isUndone: undone.length > 0, isMended, isOutdated }
    },
    isForgotten,
    isEnrolled,
    mustPass: (request) => rules().every((one) => mayPass(request, one)),
    mayPassStranger: (request, moment) => rules(moment).some((one) => mayPass(request, one)),
    clients: () => {
      // a lost memory of details or of a beacon knows no clients until it is told of them again; one of a client takes nothing from it
      const isLost = ['details', ...BEACONS].some((side) => isMemoryDeleted(platform.said, side))
      if (isLost || !isDeclaring()) return []
      const truth = findTruth(platform)
      const known = {
        ...truth,
        relations: truth.relations.filter(
          ({ fact }) => fact.kind === 'told' && isKnown(fact.relation.id, fact.side) && isNaming(fact),
        ),
      }
      return clientsOf(known).filter((client) => client !== ALIAS.name || !isBeingNamed())
    },
  }
}

/** Tells if a fact says who a client of another model is: one with a memory says it itself, once it is told. */
const isNaming = ({ relation: { interface: name, requirer }, side }: Extract<Fact, { kind: 'told' }>): boolean =>
  name !== 'cross_model_mesh' || requirer.application === ALIAS.name || requirer.application === side

/** Watches every policy for identities that it must not let in at any moment. */
export const watchMoments = (world: World, platform: Platform): void => {
  const report = (problem: string) => {
    world.log(() => `  !! ${problem}`)
    world.wrong.push(problem)
  }
  world.api.subscribe(({ type, object }) => {
    if (object.kind !== 'AuthorizationPolicy' || type === 'DELETED') return
    const known = new Set([...OWN, ...toldApplications(platform)])
    for (const name of principalsIn(object))
      if (!known.has(name)) report(`${object.metadata.name} lets ${name} in, whom no relation ever did`)
  })
}

/** Whoever was told of in any relation that lets somebody in. */
const toldApplications = ({ said: { facts } }: Platform): string[] =>
  facts.flatMap((fact) => {
    if (fact.kind !== 'told' || fact.relation.interface === 'service_mesh') return []
    if (fact.relation.interface === 'cross_model_mesh')
      return fact.relation.requirer.application === ALIAS.name ? [ALIAS.of] : [fact.relation.requirer.application]
    const { provider, requirer } = fact.relation
    if (fact.relation.interface === 'http') return [requirer.application]
    return [provider.application, requirer.application]
  })
