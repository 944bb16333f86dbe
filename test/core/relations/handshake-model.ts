import { isDeepStrictEqual } from 'node:util'
import {
  grantIntent,
  labelsIntent,
  nextGrant,
  nextLabels,
  type ProviderSees,
  type RequirerSees,
} from '../../../src/core/relations/handshake.ts'
import type { Grant, RelationEntry } from '../../../src/core/state/relation.ts'

/**
 * A relation between a requirer and its provider, with all that can happen between two of their calls. The platform says three things about it: it is
 * established, it ended, it is established again; each may reach either side, both, or none. `position` counts these.
 */
export type World = {
  readonly requirer: Requirer
  readonly provider: Provider
  /** The workload carries the labels. */
  readonly isLabelled: boolean
  /** The requests that policies let in. */
  readonly policies: readonly string[]
  /** What may still happen. */
  readonly left: Readonly<Record<'crashes' | 'requests' | 'losses', number>>
}

type Requirer = {
  readonly isLost: boolean
  readonly position: number
  readonly labels: RelationEntry['labels']
  readonly request: string
  readonly isWriting: boolean
  readonly step?: RequirerStep | undefined
  /** A write of a step that died, which is executed later unless the workload is written before. */
  readonly late?: boolean | undefined
}

type Provider = {
  readonly isLost: boolean
  readonly position: number
  readonly grant: Grant | undefined
  readonly isWriting: boolean
  readonly step?: ProviderStep | undefined
  /** Policies that a step which died removes later, unless they are written before. */
  readonly late?: readonly string[] | undefined
}

/** Where a step is: what it has read is kept, and what changes in between makes it start over. */
type RequirerStep = {
  readonly at: 'read' | 'saved' | 'looked' | 'written'
  readonly sees: RequirerSees
  readonly isAwaiting: boolean
  readonly peer: ShownByProvider
  readonly isOvertaken?: true
}

type ProviderStep = {
  readonly at: 'read' | 'saved' | 'looked' | 'widened' | 'written'
  readonly sees: ProviderSees
  readonly peer: ShownByRequirer
  readonly isOvertaken?: true
}

type ShownByProvider = Pick<Provider, 'isLost' | 'position' | 'grant'>
type ShownByRequirer = Pick<Requirer, 'isLost' | 'position' | 'labels' | 'request'>

/** The platform's words: each position says if the relation is established. */
const isEstablished = (position: number): boolean => position % 2 === 1
const LAST_POSITION = 3

export const BEGINNING: World = {
  requirer: { isLost: false, position: 0, labels: undefined, request: 'a', isWriting: false },
  provider: { isLost: false, position: 0, grant: undefined, isWriting: false },
  isLabelled: false,
  policies: [],
  left: { crashes: 1, requests: 1, losses: 1 },
}

/** All that can happen next, by name. */
export const nextWorlds = (world: World): Move[] => [
  ...words(world),
  ...requirerMoves(world),
  ...providerMoves(world),
  ...faults(world),
]

const words = (world: World): Move[] => {
  const { requirer, provider } = world
  const issued = Math.max(requirer.position, provider.position)
  const isNews = (side: Requirer | Provider, position: number) =>
    position > side.position && !side.isLost && side.step === undefined
  return [issued, issued + 1]
    .filter((position) => position <= LAST_POSITION)
    .flatMap((position) => [
      ...(isNews(requirer, position)
        ? [[`the requirer is told ${position}`, withRequirer(world, { position })] as const]
        : []),
      ...(isNews(provider, position)
        ? [[`the provider is told ${position}`, withProvider(world, { position })] as const]
        : []),
    ])
}

const shownByProvider = ({ isLost, position, grant }: Provider): ShownByProvider => ({ isLost, position, grant })
const shownByRequirer = ({ isLost, position, labels, request }: Requirer): ShownByRequirer => ({
  ...{ isLost, position, labels, request },
})

/** What a requirer makes of its memory, its workload and the memory of the provider. */
const requirerReads = (world: World): RequirerStep & Pick<Requirer, 'position' | 'labels'> => {
  const { requirer, isLabelled } = world
  const peer = shownByProvider(world.provider)
  const position = Math.max(requirer.position, peer.isLost ? 0 : peer.position)
  const labels = requirer.isLost ? recovered(isLabelled) : requirer.labels
  const isAwaiting = isEstablished(position) && isGated(labels, isLabelled) && !isGranted(peer, requirer.request)
  return { at: 'read', sees: seenByRequirer(position, peer, isAwaiting), isAwaiting, peer, position, labels }
}

/** Whose memory is lost takes labels that are there for those of the relation. */
const recovered = (isLabelled: boolean): RelationEntry['labels'] => (isLabelled ? 'applied' : undefined)

/** Tells if labels wait for a grant: they were not taken yet, or are not there any more. */
const isGated = (labels: RelationEntry['labels'], isLabelled: boolean): boolean =>
  isLabelled ? labels === undefined : true

const isGranted = ({ isLost, grant }: ShownByProvider, request: string): boolean =>
  !isLost && grant?.phase === 'standing' && grant.digest === request

const seenByRequirer = (position: number, { isLost }: ShownByProvider, isAwaiting: boolean): RequirerSees => {
  if (position === 0 || (isEstablished(position) && isLost)) return 'unknown'
  return isEstablished(position) && !isAwaiting ? 'granted' : 'nothing'
}

const providerReads = (world: World): ProviderStep & Pick<Provider, 'position'> => {
  const { provider } = world
  const peer = shownByRequirer(world.requirer)
  const position = Math.max(provider.position, peer.isLost ? 0 : peer.position)
  return { at: 'read', sees: seenByProvider(position, provider, peer), peer, position }
}

const seenByProvider = (position: number, { grant }: Provider, { isLost, labels }: ShownByRequirer): ProviderSees => {
  if (position === 0) return 'unknown'
  if (isEstablished(position)) return isLost ? 'unknown' : 'established'
  // without its memory a requirer may carry labels
  const mayCarry = isLost ? grant !== undefined : labels !== undefined
  return mayCarry ? 'leaving' : 'over'
}

type Move = readonly [name: string, world: World]

/** The world with changes of one side. */
const withRequirer = (world: World, changes: Partial<Requirer>): World => ({
  ...world,
  requirer: { ...world.requirer, ...changes },
})
const withProvider = (world: World, changes: Partial<Provider>): World => ({
  ...world,
  provider: { ...world.provider, ...changes },
})

const requirerMoves = (world: World): Move[] => {
  const { step } = world.requirer
  if (step !== undefined) return [REQUIRER_CALLS[step.at](world, step)]
  const { position, labels, ...read } = requirerReads(world)
  return [['the requirer reads', withRequirer(world, { position, labels, isLost: false, step: read })]]
}

/** The labels that a step of the requirer goes to; those that wait or are not known stay as they are. */
const wantedLabels = ({ isLabelled }: World, { sees, isAwaiting }: RequirerStep): boolean =>
  isAwaiting || sees === 'unknown' ? isLabelled : sees === 'granted'

const requirerStartsOver = (world: World): Move => [
  'the requirer starts over',
  withRequirer(world, { step: undefined }),
]

const REQUIRER_CALLS: Readonly<Record<RequirerStep['at'], (world: World, step: RequirerStep) => Move>> = {
  read: (world, step) => {
    const { requirer, isLabelled } = world
    const intent = labelsIntent(requirer, step.sees)
    const isDue = intent !== undefined || wantedLabels(world, step) !== isLabelled || requirer.isWriting
    if (!isDue) return ['the requirer has nothing to write', recordedByRequirer(world, step)]
    const saved = { labels: intent ?? requirer.labels, isWriting: true, step: { ...step, at: 'saved' as const } }
    return ['the requirer saves', withRequirer(world, saved)]
  },
  saved: (world, step) => {
    const isMeant = step.sees === 'granted' && world.requirer.labels === 'applying'
    return isMeant && !isDeepStrictEqual(step.peer, shownByProvider(world.provider))
      ? requirerStartsOver(world)
      : ['the requirer looks again', withRequirer(world, { step: { ...step, at: 'looked' } })]
  },
  looked: (world, step) =>
    step.isOvertaken
      ? requirerStartsOver(world)
      : [
          'the requirer writes',
          {
            ...withRequirer(world, { step: { ...step, at: 'written' }, late: undefined }),
            isLabelled: wantedLabels(world, step),
          },
        ],
  written: (world, step) =>
    step.isOvertaken ? requirerStartsOver(world) : ['the requirer records', recordedByRequirer(world, step)],
}

const recordedByRequirer = (world: World, { sees, isAwaiting }: RequirerStep): World =>
  withRequirer(world, { labels: nextLabels(world.requirer, sees, isAwaiting), isWriting: false, step: undefined })

const providerMoves = (world: World): Move[] => {
  const { step } = world.provider
  if (step !== undefined) return [PROVIDER_CALLS[step.at](world, step)]
  const { position, ...read } = providerReads(world)
  return [['the provider reads', withProvider(world, { position, isLost: false, step: read })]]
}

/** The policies that a step of the provider goes to: those of an unknown request stay. */
const wantedPolicies = (world: World, { sees, peer }: ProviderStep): readonly string[] => {
  if (sees === 'over') return []
  return sees === 'unknown' || peer.isLost ? world.policies : [peer.request]
}

const stalePolicies = (world: World, step: ProviderStep): string[] =>
  world.policies.filter((request) => !wantedPolicies(world, step).includes(request))

const providerStartsOver = (world: World): Move => [
  'the provider starts over',
  withProvider(world, { step: undefined }),
]

const PROVIDER_CALLS: Readonly<Record<ProviderStep['at'], (world: World, step: ProviderStep) => Move>> = {
  read: (world, step) => {
    const { provider, policies } = world
    const intent = grantIntent(provider, step.sees)
    const isDue =
      intent !== undefined || !isDeepStrictEqual(wantedPolicies(world, step), policies) || provider.isWriting
    if (!isDue) return ['the provider has nothing to write', recordedByProvider(world, step)]
    const saved = { grant: intent ?? provider.grant, isWriting: true, step: { ...step, at: 'saved' as const } }
    return ['the provider saves', withProvider(world, saved)]
  },
  saved: (world, step) => {
    const isTaking = step.sees === 'over' || stalePolicies(world, step).length > 0
    return isTaking && !isDeepStrictEqual(step.peer, shownByRequirer(world.requirer))
      ? providerStartsOver(world)
      : ['the provider looks again', withProvider(world, { step: { ...step, at: 'looked' } })]
  },
  looked: (world, step) => {
    if (step.isOvertaken) return providerStartsOver(world)
    const wanted = wantedPolicies(world, step)
    // a policy that is written anew is not the one that a late removal was bound to
    const late = world.provider.late?.filter((request) => !wanted.includes(request)) ?? []
    const written = withProvider(world, {
      step: { ...step, at: 'widened' },
      late: late.length === 0 ? undefined : late,
    })
    return ['the provider writes', { ...written, policies: [...new Set([...world.policies, ...wanted])].toSorted() }]
  },
  widened: (world, step) => {
    if (step.isOvertaken) return providerStartsOver(world)
    const removed = withProvider(world, { step: { ...step, at: 'written' }, late: undefined })
    return ['the provider removes', { ...removed, policies: wantedPolicies(world, step) }]
  },
  written: (world, step) =>
    step.isOvertaken ? providerStartsOver(world) : ['the provider records', recordedByProvider(world, step)],
}

const recordedByProvider = (world: World, { sees, peer }: ProviderStep): World =>
  withProvider(world, {
    grant: nextGrant(world.provider, sees, peer.isLost ? undefined : peer.request),
    isWriting: false,
    step: undefined,
  })

/** Deaths at any point, writes that come late, requests that change, and memories that are deleted. */
const faults = (world: World): Move[] => [...deaths(world), ...lateWrites(world), ...changes(world), ...losses(world)]

const spending = (world: World, what: keyof World['left']): World => ({
  ...world,
  left: { ...world.left, [what]: world.left[what] - 1 },
})

const deaths = (world: World): Move[] => {
  if (world.left.crashes === 0) return []
  const crashed = spending(world, 'crashes')
  const [asking, granting] = [world.requirer.step, world.provider.step]
  return [
    ...(asking === undefined
      ? []
      : [['the requirer dies', withRequirer(crashed, { step: undefined, late: lateLabels(world, asking) })] as const]),
    ...(granting === undefined
      ? []
      : [
          [
            'the provider dies',
            withProvider(crashed, { step: undefined, late: lateRemovals(world, granting) }),
          ] as const,
        ]),
  ]
}

const lateLabels = (world: World, step: RequirerStep): boolean | undefined => {
  const isWriting = step.at === 'looked' && !step.isOvertaken && !step.isAwaiting && step.sees !== 'unknown'
  return isWriting ? wantedLabels(world, step) : undefined
}

const lateRemovals = (world: World, step: ProviderStep): string[] | undefined => {
  const stale = stalePolicies(world, step)
  return step.at === 'widened' && !step.isOvertaken && stale.length > 0 ? stale : undefined
}

const lateWrites = (world: World): Move[] => {
  const { requirer, provider } = world
  const overtaken = <S extends object>(step: S | undefined) => step && { ...step, isOvertaken: true as const }
  const removed = provider.late ?? []
  return [
    ...(requirer.late === undefined
      ? []
      : [
          [
            'the late labels are written',
            {
              ...withRequirer(world, { late: undefined, step: overtaken(requirer.step) }),
              isLabelled: requirer.late,
            },
          ] as const,
        ]),
    ...(provider.late === undefined
      ? []
      : [
          [
            'the late removal is executed',
            {
              ...withProvider(world, { late: undefined, step: overtaken(provider.step) }),
              policies: world.policies.filter((request) => !removed.includes(request)),
            },
          ] as const,
        ]),
  ]
}

const changes = (world: World): Move[] => {
  const { requirer, left } = world
  return left.requests > 0 && requirer.step === undefined && !requirer.isLost
    ? [['the request changes', withRequirer(spending(world, 'requests'), { request: 'b' })]]
    : []
}

const FORGOTTEN = { isLost: true, position: 0, isWriting: false }

/** Without its memory a side does not know of a write that is still on its way: that no rule mends (docs/explanation/relations.md). */
const losses = (world: World): Move[] => {
  const { requirer, provider, left } = world
  const isQuiet = requirer.late === undefined && provider.late === undefined
  if (left.losses === 0 || !isQuiet) return []
  const lost = spending(world, 'losses')
  return [
    ...(requirer.step === undefined && requirer.position > 0
      ? [['the memory of the requirer is deleted', withRequirer(lost, { ...FORGOTTEN, labels: undefined })] as const]
      : []),
    ...(provider.step === undefined && provider.position > 0
      ? [['the memory of the provider is deleted', withProvider(lost, { ...FORGOTTEN, grant: undefined })] as const]
      : []),
  ]
}

/** Runs steps of both sides in turn until nothing changes any more; undefined where that does not come. */
export const settled = (world: World): World | undefined => {
  let [before, after] = [world, world]
  for (let round = 0; round < 12; round += 1) {
    after = stepOf(stepOf(after, requirerMoves, 'requirer'), providerMoves, 'provider')
    if (isDeepStrictEqual(after, before)) return after
    before = after
  }
  return undefined
}

const stepOf = (world: World, moves: typeof requirerMoves, side: 'requirer' | 'provider'): World => {
  let current = world
  do current = moves(current)[0]?.[1] ?? current
  while (current[side].step !== undefined)
  return current
}
