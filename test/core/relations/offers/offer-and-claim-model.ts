import { claimAfter, claimBefore, isApplied, type Sees } from '../../../../src/core/relations/offers/offer-and-claim.ts'
import type { Claim } from '../../../../src/core/state/relation.ts'
import * as graph from './interleavings.ts'
import { isSame, type Objects, standsIn, when, writing } from './interleavings.ts'

/**
 * The protocol between a provider that offers labels and a requirer that takes them, as one graph of states. What a step does next follows
 * from the production functions.
 */

/** Rules that can be switched off, so that each is seen to be needed. */
export type Rule =
  | 'compare'
  | 'reread'
  | 'touch'
  | 'taken'
  | 'unknown'
  | 'phases'
  | 'leaving'
  /** All others are denied only once every claim is applied. */
  | 'awaited'
  /** Nobody is denied any more when the offer changes. */
  | 'undone'
  /** New policies are written before stale ones go. */
  | 'widened'

/** How the provider offers: not at all, labels of the pods, those of the namespace, or `hardened`: pods where all others are denied. */
type Mode = 'none' | 'pods' | 'namespace' | 'hardened'

type Spent = {
  /** How often the platform changes the relation. */
  readonly words: number
  /** How often the provider is told to offer otherwise. */
  readonly wishes: number
  /** How often the requirer is told to ask for other policies. */
  readonly requests: number
  readonly deaths: number
  /** How often the provider's memory cannot be read for a while. */
  readonly outages: number
  /** How often the requirer's memory is deleted. */
  readonly losses: number
}

export type Bounds = Spent & {
  readonly requirers: number
  readonly providers: number
  readonly modes: readonly Mode[]
}

/** The least that has histories in which each side meets the other's changes, and a process of it dies. */
export const SMALL: Bounds = {
  ...{ requirers: 1, providers: 1, modes: ['none', 'pods', 'namespace'] },
  ...{ words: 2, wishes: 1, requests: 0, deaths: 1, outages: 0, losses: 0 },
}

/**
 * Labels; policies as they are asked for at first; those that admit more, asked for later or because the mesh is hardened; what the offer rests
 * on; the namespace's label; what denies all others.
 */
const [LABELS, POLICIES, WIDE, BASIS, NAMESPACE, DENY] = [0, 1, 2, 3, 4, 5] as const
const TITLES = ['labels', 'policies', 'wide policies', 'basis', 'namespace', 'deny'] as const
const SEEN = { requirer: [LABELS, POLICIES, WIDE, NAMESPACE], provider: [BASIS, NAMESPACE, DENY] } as const

type Requirer = graph.Memory & {
  readonly established: boolean
  readonly isWide: boolean
  readonly claim: Claim | undefined
}
type Provider = graph.Memory & { readonly wish: Mode; readonly mode: Mode; readonly offer: number }

type Memories = { readonly requirer: Requirer; readonly provider: Provider }
type State = graph.State<Memories>
type Operation = graph.Operation<Memories>

const START: Memories = {
  requirer: { version: 0, isWriting: false, established: false, isWide: false, claim: undefined },
  provider: { version: 0, isWriting: false, wish: 'pods', mode: 'pods', offer: 0 },
}

const OBJECTS: Objects = TITLES.map((_, target) => [target === BASIS, 0])

const LOST: Claim = { version: '-1', phase: 'leaving' }

const isWideDue = ({ isWide }: Requirer, mode: Mode): boolean => isWide || mode === 'hardened'

const wrongIn = (
  { memories: { requirer }, objects, spent }: State,
  target: number,
  at: number | undefined,
): string | undefined => {
  const [labels, policies, wide, basis, namespace, deny] = objects.map(([stands]) => stands === true)
  const isRelated = requirer.established && at === spent.words
  const isOpen = !policies && !wide
  const isClaimed = requirer.claim !== undefined || target !== NAMESPACE
  const wrongs: readonly [boolean | undefined, string][] = [
    [labels && isOpen, 'labels stand without policies'],
    [(labels || namespace) && !basis, 'labels stand without what they rest on'],
    [isRelated && labels && deny && !wide, 'others are denied before the policies admit whom they should'],
    [isRelated && namespace && isOpen && isClaimed, 'the namespace enrols without policies'],
  ]
  return wrongs.find(([isWrong]) => isWrong)?.[1]
}

/** Tells if all stands as the platform and the provider want it. */
const isAsTold = ({ memories: { requirer, provider }, objects }: State): boolean => {
  const { established, claim } = requirer
  const { wish, mode, offer } = provider
  const isOn = established && wish !== 'none'
  const isWide = isWideDue(requirer, wish)
  const policies = [isOn && !isWide, isOn && isWide]
  const wanted = [isOn && wish !== 'namespace', ...policies, wish !== 'none', wish === 'namespace', wish === 'hardened']
  const isClaimed = isOn ? isApplied(claim, String(offer)) : claim === undefined
  return isClaimed && mode === wish && objects.every(([stands], target) => stands === wanted[target])
}

const createProtocol = (
  { requirers, providers, modes, ...bounds }: Bounds,
  off: ReadonlySet<Rule>,
): graph.Protocol<Memories> => {
  const has = (rule: Rule) => !off.has(rule)
  const sees = ({ memories: { provider }, isUnreadable }: State): Sees => {
    if (isUnreadable) return has('unknown') ? 'unknown' : 'nothing'
    return provider.mode === 'none' ? 'nothing' : { offer: String(provider.offer) }
  }

  const claiming = (claim: Claim | undefined, seen: Sees): Claim | undefined => {
    const before = claimBefore(claim, seen)
    return !has('leaving') && before?.phase === 'leaving' ? claim : before
  }

  const writingTo = (objects: Objects, { isWriting }: graph.Memory) => writing(objects, isWriting && has('touch'))

  const planOfRequirer = (state: State, objects: Objects): Operation[] => {
    const { requirer, provider } = state.memories
    const seen = requirer.established ? sees(state) : 'nothing'
    if (seen === 'unknown') return []
    const claim = claiming(requirer.claim, seen)
    const after = claimAfter(claim, seen, { isDone: true, mayRemain: false })
    const writes = seen === 'nothing' ? leave(state, objects) : take(state, objects)
    const end = saving({ claim: after, isWriting: false })
    if (writes.length === 0 && !requirer.isWriting) return when(!isSame(requirer.claim, after), end)
    return [
      saving({ claim, isWriting: true }),
      ...when<Operation>(has('reread') && seen !== 'nothing' && claim?.phase === 'claiming', {
        ...{ do: 'read', name: 'reads the offer again', of: 'provider', as: { offer: provider.offer } },
      }),
      ...writes,
      end,
    ]
  }

  const saving = (change: Pick<Requirer, 'claim' | 'isWriting'>): Operation => ({
    ...{ do: 'save', name: `saves ${change.claim?.phase ?? 'no claim'}`, change },
  })

  const leave = ({ memories: { requirer } }: State, objects: Objects): Operation[] =>
    [LABELS, POLICIES, WIDE].flatMap((target) => writingTo(objects, requirer)(target, false))

  const take = ({ memories: { requirer, provider } }: State, objects: Objects): Operation[] => {
    const write = writingTo(objects, requirer)
    const { mode } = provider
    const [wanted, stale] = isWideDue(requirer, mode) ? ([WIDE, POLICIES] as const) : ([POLICIES, WIDE] as const)
    // labels of the pods stay as they are until the namespace has them
    const isToStand = mode !== 'namespace' || (standsIn(objects, LABELS) && !standsIn(objects, NAMESPACE))
    const [before, after] = [[...write(wanted, true), ...write(LABELS, isToStand)], write(stale, false)]
    return has('widened') ? [...before, ...after] : [...after, ...before]
  }

  const planOfProvider = (state: State, objects: Objects): Operation[] => {
    const { provider, requirer } = state.memories
    const { wish, mode, offer, isWriting } = provider
    const isMoving = mode !== wish
    const as: Partial<Provider> = wish === 'none' ? {} : { offer }
    const isFree = !isMoving && isTaken(requirer, as)
    const writes = wantedByProvider(state, objects, isFree).flatMap(([target, stands]) =>
      writingTo(objects, provider)(target, stands),
    )
    const next = { offer: offer + Number(isMoving), mode: wish }
    const end = offering({ ...next, isWriting: false })
    if (writes.length === 0 && !isWriting) return when(isMoving, end)
    const first = has('undone') ? { offer, mode } : next
    return [
      offering({ ...first, isWriting: true }),
      ...when<Operation>(has('reread') && isFree, { do: 'read', name: 'reads the claims', of: 'requirer', as }),
      ...writes,
      end,
    ]
  }

  const offering = (change: Pick<Provider, 'offer' | 'mode' | 'isWriting'>): Operation => ({
    ...{ do: 'save', name: `offers ${change.mode}`, change },
  })

  /** An offer that ends or changes denies nobody, and one that ends enrols nobody. All else waits until no claim is in the way. */
  const wantedByProvider = (
    { memories: { provider } }: State,
    objects: Objects,
    isFree: boolean,
  ): readonly (readonly [target: number, stands: boolean])[] => {
    const { wish, mode } = provider
    return [
      [BASIS, wish !== 'none' || (standsIn(objects, BASIS) && !isFree)],
      [NAMESPACE, isFree ? wish === 'namespace' : standsIn(objects, NAMESPACE) && wish !== 'none'],
      [DENY, mode === wish && (isFree || !has('awaited') ? wish === 'hardened' : standsIn(objects, DENY))],
    ]
  }

  const isTaken = ({ established, claim }: Requirer, { offer }: Partial<Provider>): boolean => {
    if (offer === undefined) return claim === undefined
    return !established || (has('phases') ? isApplied(claim, String(offer)) : claim?.version === String(offer))
  }

  /** What others do: the platform, whoever configures the two, and who deletes memories or keeps them from being read. */
  const told = ({ memories, isUnreadable }: State): graph.Told<Memories>[] => {
    const { requirer, provider } = memories
    const changing = (change: Partial<Requirer>): Partial<State> => ({
      memories: { ...memories, requirer: { ...requirer, version: requirer.version + 1, ...change } },
    })
    const wishing = (wish: Mode): Partial<State> => ({
      memories: { ...memories, provider: { ...provider, version: provider.version + 1, wish } },
    })
    // labels that may stand were taken, whatever the memory says: what is lost counts as a claim until it is known to be gone
    const lost = { claim: has('taken') ? LOST : undefined, isWriting: has('taken') }
    const { established, isWide } = requirer
    return [
      { name: 'the platform speaks', once: 'words', change: changing({ established: !established }) },
      { name: 'the requirer is to ask for others', once: 'requests', change: changing({ isWide: !isWide }) },
      { name: 'the memory of the requirer is deleted', once: 'losses', change: changing(lost) },
      ...modes
        .filter((wish) => wish !== provider.wish)
        .map((wish) => ({ name: `the provider is to offer ${wish}`, once: 'wishes', change: wishing(wish) })),
      isUnreadable
        ? { name: 'the offer can be read again', change: { isUnreadable: false } }
        : { name: 'the offer cannot be read', once: 'outages', change: { isUnreadable: true } },
    ]
  }

  const isRelated = ({ memories }: State, side: keyof Memories) => side === 'requirer' && memories.requirer.established
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
  return {
    ...{ start: START, objects: OBJECTS, titles: TITLES, reads: SEEN, bounds, isCompared: has('compare') },
    ...{ told, wrongIn, isAsTold },
    processes: [...times(requirers, 'requirer' as const), ...times(providers, 'provider' as const)],
    offers: { requirer: { claim: 0, offer: 0 }, provider: { offer: 0 } },
    plan: (state, side, objects) =>
      side === 'requirer' ? planOfRequirer(state, objects) : planOfProvider(state, objects),
    isStill: ({ memories: { requirer, provider }, isUnreadable }, { of, as }) =>
      of === 'requirer'
        ? isTaken(requirer, as)
        : 'offer' in as && provider.offer === as.offer && provider.mode !== 'none' && !isUnreadable,
    momentOf: (state, of) => (isRelated(state, of) ? state.spent.words : undefined),
    wrongPlan: (state, side, plan) =>
      isRelated(state, side) && state.isUnreadable && plan.length > 0
        ? 'labels are to go, though nobody knows that the offer is withdrawn'
        : undefined,
  }
}

/** Explores every order of calls, and answers with how many states there are, and with the first history that goes wrong. */
export const explore = (bounds: Bounds, off?: Rule): graph.Explored =>
  graph.exploreAll(createProtocol(bounds, new Set(off && [off])))
