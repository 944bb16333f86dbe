import { CONFIGS, namespaceOf, namespaceUnlessSame, otherSide, type Relation, relationData } from './fixture.ts'
import type { Hand } from './hands.ts'

/** What the platform, or a person with kubectl, does; `side` is the application that is told. */
export type Fact =
  | { kind: 'told'; relation: Relation; side: string; form: Form }
  | { kind: 'ended'; relation: Relation; side: string; form: Form }
  /** Without a config of its own the one that the application always has. */
  | { kind: 'config'; side: string; form: Form; config?: Record<string, unknown> }
  | { kind: 'removed'; side: string; form: Form }
  | { kind: 'forgotten'; side: string }
  /** The memory is as it was once; `nth` chooses among its versions. */
  | { kind: 'restored'; side: string; nth: number }
  | { kind: 'hand'; side: string; hand: Hand }

/** An event in the platform's order, or a ConfigMap. */
export type Form = 'event' | 'document'

/** What orders the platform's events: `time` of two senders with clocks apart, `sequence` of one sender, or nothing. */
export type Order = 'time' | 'sequence' | 'none'

/** The thing that a fact is about: facts about one thing replace each other. */
export const aboutOf = (fact: Fact): string =>
  fact.kind === 'told' || fact.kind === 'ended' ? `relation/${fact.relation.id}` : `config/${fact.side}`

export const describeFact = (fact: Fact): string => {
  if (fact.kind === 'forgotten') return `memory of ${fact.side} deleted`
  if (fact.kind === 'restored') return `memory of ${fact.side} restored from a backup`
  if (fact.kind === 'hand') return `a person ${fact.hand.does}`
  const how = fact.form === 'document' ? ' by document' : ''
  if (fact.kind === 'config' || fact.kind === 'removed') return `${fact.side}: ${fact.kind}${how}`
  const { id, provider, requirer } = fact.relation
  return `relation ${id} (${provider.application}:${provider.endpoint} ${requirer.application}) ${fact.kind} to ${fact.side}${how}`
}

const NAMES = {
  told: 'relation-changed',
  ended: 'relation-broken',
  config: 'config-changed',
  removed: 'application-removed',
} as const

/** What the platform tells, by an event or a document. */
export type Told = Exclude<Fact, { kind: 'forgotten' | 'restored' | 'hand' }>

export const eventType = ({ kind }: Told): string => `dev.meshstep.${NAMES[kind]}.v1`

export const configIn = ({ config, side }: Extract<Fact, { kind: 'config' }>): Record<string, unknown> =>
  config ?? CONFIGS[side] ?? {}

export const eventData = (fact: Told): Record<string, unknown> => {
  if (fact.kind === 'told') return relationData(fact.relation, fact.side, fact.form === 'event')
  // without an order a side that never heard of the relation could not know whom to ask what came before
  if (fact.kind === 'ended') {
    const { relation, side } = fact
    const application = otherSide(relation, side)
    return {
      relation: { id: relation.id, interface: relation.interface },
      remote: { application, ...namespaceUnlessSame(application, side) },
    }
  }
  return fact.kind === 'config' ? { config: configIn(fact) } : {}
}

/** The name of the ConfigMap that holds a relation or a config. */
export const documentName = (fact: Told): string =>
  fact.kind === 'told' || fact.kind === 'ended' ? `relation-${fact.relation.id}-${fact.side}` : `config-${fact.side}`

/** The ConfigMap of a fact that makes one; undefined for a fact that deletes it. */
export const documentOf = (fact: Told): Record<string, unknown> | undefined => {
  if (fact.kind === 'ended' || fact.kind === 'removed') return undefined
  const kind = fact.kind === 'told' ? 'relation' : 'config'
  const data = Object.entries(eventData(fact)).map(([key, value]) => [key, JSON.stringify(value)])
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: documentName(fact), namespace: namespaceOf(fact.side), labels: { 'meshstep.dev/kind': kind } },
    data: { application: fact.side, ...Object.fromEntries(data) },
  }
}
