import { NAMESPACE } from './fixture.ts'
import type { Platform } from './platform.ts'
import type { KubernetesObject } from './process.ts'
import { findTruth, hasConfig } from './truth.ts'
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

const isGuarding = ({ spec }: KubernetesObject, application: string): boolean =>
  JSON.stringify([spec?.selector, spec?.targetRefs]).includes(`"${application}"`)

const isLabelled = (object: KubernetesObject): boolean => Object.hasOwn(labelsOn(object), 'istio.io/dataplane-mode')

/** Identities that need no relation: those of the waypoint and of the beacon, and a coordinator within its own cluster. */
export const OWN: readonly string[] = ['shop-beacon-waypoint', 'beacon', 'tempo']

/** Which application has to be guarded whenever it is on the mesh. Workers without pods are let in nowhere: clusters are not looked at. */
const GUARDED = 'details'

/** Watches every change of the cluster for what must not be at any moment. */
export const watchMoments = (world: World, platform: Platform): void => {
  const there = world.api.objects().filter(({ metadata }) => metadata.namespace === NAMESPACE)
  const ofKind = (kind: string) => there.filter((one) => one.kind === kind)
  const policies = new Map(ofKind('AuthorizationPolicy').map((policy) => [policy.metadata.name, policy]))
  const labelled = new Set(
    ofKind('StatefulSet')
      .filter(isLabelled)
      .map(({ metadata }) => metadata.name),
  )

  const admitted = (): Set<string> =>
    new Set([...policies.values()].filter((one) => isGuarding(one, GUARDED)).flatMap(principalsIn))

  /** Nothing about it is under way: all was answered, and whoever runs has started since. */
  const isStable = (about: string): boolean => {
    const changed = platform.said.changed.get(about)
    const isAnswered = platform.said.letters.every((letter) => letter.about !== about || letter.isAnswered)
    const running = [...world.actors, ...world.late]
    return changed !== undefined && isAnswered && running.every(({ started }) => started > changed)
  }

  /** What another side was told is known to details once all nudges have come. */
  const isKnown = (id: number, side: string): boolean => {
    const about = `relation/${id}`
    return isStable(about) && (side === 'details' || world.quietSince() > (platform.said.changed.get(about) ?? 0))
  }

  /** Whoever has been related to details, and that has had its config, for as long as anything runs. */
  const stableClients = (): string[] => {
    if (platform.said.isTampered || !isStable('config/details')) return []
    const truth = findTruth(platform)
    if (!hasConfig(truth, 'details')) return []
    return truth.relations.flatMap(({ fact }) =>
      fact.kind === 'told' && fact.relation.interface === 'http' && isKnown(fact.relation.id, fact.side)
        ? [fact.relation.requirer.application]
        : [],
    )
  }

  const report = (problem: string) => {
    world.log(() => `  !! ${problem}`)
    world.wrong.push(problem)
  }

  const checkAdmitted = (policy: KubernetesObject): void => {
    const known = new Set([...OWN, ...toldApplications(platform)])
    for (const name of principalsIn(policy))
      if (!known.has(name)) report(`${policy.metadata.name} lets ${name} in, whom no relation ever did`)
  }

  const checkEnrolment = (object: KubernetesObject): void => {
    const { name } = object.metadata
    const isOn = isLabelled(object)
    const isNew = isOn && !labelled.has(name)
    if (isOn) labelled.add(name)
    else labelled.delete(name)
    if (!isNew || name !== GUARDED) return
    const inside = admitted()
    for (const client of stableClients())
      if (!inside.has(client)) report(`${name} is enrolled before ${client} is let in`)
  }

  const checkRevoked = (before: ReadonlySet<string>): void => {
    const after = admitted()
    const lost = [...before].filter((client) => !after.has(client))
    if (lost.length === 0) return
    for (const client of stableClients())
      if (lost.includes(client)) report(`${client} is refused while details is enrolled and related to it`)
  }

  world.api.subscribe(({ type, object }) => {
    if (object.metadata.namespace !== NAMESPACE) return
    if (object.kind === 'StatefulSet') checkEnrolment(object)
    if (object.kind !== 'AuthorizationPolicy') return
    const before = labelled.has(GUARDED) ? admitted() : new Set<string>()
    if (type === 'DELETED') policies.delete(object.metadata.name)
    else policies.set(object.metadata.name, object)
    if (type !== 'DELETED') checkAdmitted(object)
    checkRevoked(before)
  })
}

/** Whoever was told of in any relation that lets somebody in. */
const toldApplications = ({ said: { facts } }: Platform): string[] =>
  facts.flatMap((fact) => {
    if (fact.kind !== 'told' || fact.relation.interface === 'service_mesh') return []
    const { provider, requirer } = fact.relation
    return fact.relation.interface === 'http' ? [requirer.application] : [provider.application, requirer.application]
  })
