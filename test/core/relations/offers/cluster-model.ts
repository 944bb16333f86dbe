import { claimAfter, claimBefore, isApplied, type Sees } from '../../../../src/core/relations/offers/offer-and-claim.ts'
import type { Claim } from '../../../../src/core/state/relation.ts'
import { BEACON, type Beacon, type BeaconRule, isStill, planOfBeacon } from './beacon-model.ts'
import * as graph from './interleavings.ts'
import { isSame, type Objects, standsIn, when, writing } from './interleavings.ts'

/**
 * A worker behind a coordinator behind a beacon: the coordinator takes the beacon's offer, writes the policies of its cluster, and hands the labels
 * on to its worker. Its offer to the worker never ends while they are related: the labels of the mesh come into it, and go.
 */

export type Rule =
  | BeaconRule
  /** The coordinator keeps its claim while its worker carries labels. */
  | 'handed on'
  /** It keeps the policies of the cluster as well. */
  | 'kept'
  /** It hands labels on once its claim to them is saved. */
  | 'claimed'
  /** Policies come before labels. */
  | 'guarded'
  /** The worker saves which labels it is about to carry. */
  | 'carried'

const [LABELS, OWN, POLICIES, BASIS] = [0, 1, 2, 3] as const
const TITLES = ["the worker's labels", 'labels', 'policies', 'basis']

type Worker = graph.Memory & {
  readonly established: boolean
  readonly claim: Claim | undefined
  /** Its memory lists the labels of the mesh. */
  readonly carries: boolean
}
type Coordinator = graph.Memory & {
  readonly established: boolean
  readonly claim: Claim | undefined
  /** Its offer has the labels of the mesh. */
  readonly hands: boolean
  readonly offer: number
}
type Memories = { readonly worker: Worker; readonly coordinator: Coordinator; readonly beacon: Beacon }
type State = graph.State<Memories>
type Operation = graph.Operation<Memories>

const START: Memories = {
  worker: { version: 0, isWriting: false, established: true, claim: undefined, carries: false },
  coordinator: { version: 0, isWriting: false, established: true, claim: undefined, hands: false, offer: 0 },
  beacon: BEACON,
}

const OBJECTS: Objects = [
  [false, 0],
  [false, 0],
  [false, -1],
  [true, 1],
]

const wrongIn = ({ objects }: State): string | undefined => {
  const [labels, own, policies, basis] = objects.map(([stands]) => stands)
  if (labels && !policies) return 'the worker is on the mesh without policies'
  if (labels && !basis) return 'the worker carries labels without what they rest on'
  if (own && !policies) return 'the coordinator is on the mesh without policies'
  return own && !basis ? 'the coordinator carries labels without what they rest on' : undefined
}

const isAsTold = ({ memories: { worker, coordinator, beacon }, objects }: State): boolean => {
  const isOn = coordinator.established && beacon.wish
  const isBoth = isOn && worker.established
  const wanted = [isBoth, isOn, isOn, beacon.wish]
  const isTaken = isOn ? isApplied(coordinator.claim, `${beacon.offer}`) : coordinator.claim === undefined
  const isFollowed = worker.established ? isApplied(worker.claim, `${coordinator.offer}`) : worker.claim === undefined
  const isSaid = worker.carries === isBoth && coordinator.hands === isOn && beacon.isOffered === beacon.wish
  return isTaken && isFollowed && isSaid && objects.every(([stands], target) => stands === wanted[target])
}

const createProtocol = (bounds: graph.Spent, off: ReadonlySet<Rule>): graph.Protocol<Memories> => {
  const has = (rule: Rule) => !off.has(rule)

  const planOfWorker = ({ memories: { worker, coordinator } }: State, objects: Objects): Operation[] => {
    const { established, claim: claimed, carries, isWriting } = worker
    const seen: Sees = established ? { offer: `${coordinator.offer}` } : 'nothing'
    const isOn = established && coordinator.hands
    const claim = claimBefore(claimed, seen)
    const after = claimAfter(claim, seen, { isDone: true, mayRemain: false })
    const writes = writing(objects, isWriting && has('touch'))(LABELS, isOn)
    const end: Operation = { do: 'save', name: 'saves', change: { claim: after, carries: isOn, isWriting: false } }
    if (writes.length === 0 && !isWriting) return when(!isSame(claimed, after) || carries !== isOn, end)
    const first = { claim, carries: carries || (isOn && has('carried')), isWriting: true }
    return [
      { do: 'save', name: `saves ${claim?.phase}`, change: first },
      ...when<Operation>(has('reread') && claim?.phase === 'claiming', {
        ...{ do: 'read', name: 'reads the offer again', of: 'coordinator', as: { offer: coordinator.offer } },
      }),
      ...writes,
      end,
    ]
  }

  /** Labels that are to be handed on wait for policies that stand, and are fenced, and for a claim that is saved. */
  const isHeld = ({ claim, isWriting }: Coordinator, objects: Objects): boolean =>
    (has('held') && !standsIn(objects, POLICIES)) ||
    (has('fenced') && isWriting) ||
    (has('claimed') && claim === undefined)

  const handing = (coordinator: Coordinator, objects: Objects, isOn: boolean) => {
    const { hands, offer } = coordinator
    const isNews = hands !== isOn && !(isOn && isHeld(coordinator, objects))
    return { isNews, said: isNews ? { hands: isOn, offer: offer + 1 } : { hands, offer } }
  }

  const planOfCoordinator = ({ memories }: State, objects: Objects): Operation[] => {
    const { worker, coordinator, beacon } = memories
    const { established, isWriting } = coordinator
    const isOn = established && beacon.isOffered
    const seen: Sees = isOn ? { offer: `${beacon.offer}` } : 'nothing'
    const claim = claimBefore(coordinator.claim, seen)
    const after = claimAfter(claim, seen, { isDone: true, mayRemain: worker.carries && has('handed on') })
    const { isNews, said } = handing(coordinator, objects, isOn)
    const writes = clusterWrites(coordinator, objects, isOn, worker.carries)
    const end: Operation = { do: 'save', name: 'saves', change: { claim: after, ...said, isWriting: false } }
    if (writes.length === 0 && !isWriting) return when(!isSame(coordinator.claim, after) || isNews, end)
    return [
      { do: 'save', name: `saves ${claim?.phase}`, change: { claim, ...said, isWriting: true } },
      ...(has('reread') ? readAgain(memories, claim, isNews) : []),
      ...writes,
      end,
    ]
  }

  const readAgain = ({ worker, beacon }: Memories, claim: Claim | undefined, isNews: boolean): Operation[] => [
    ...when<Operation>(claim?.phase === 'claiming', {
      ...{ do: 'read', name: 'reads the offer again', of: 'beacon', as: { offer: beacon.offer } },
    }),
    ...when<Operation>(isNews, {
      ...{ do: 'read', name: 'reads the worker again', of: 'worker' },
      as: { claim: worker.claim, carries: worker.carries },
    }),
  ]

  const clusterWrites = (coordinator: Coordinator, objects: Objects, isOn: boolean, isCarried: boolean) => {
    const write = writing(objects, coordinator.isWriting && has('touch'))
    const isKept = standsIn(objects, POLICIES) && isCarried && has('kept')
    const [policies, labels] = [write(POLICIES, isOn || isKept), write(OWN, isOn)]
    return isOn === has('guarded') ? [...policies, ...labels] : [...labels, ...policies]
  }

  const told = ({ memories }: State): graph.Told<Memories>[] => {
    const { worker, coordinator, beacon } = memories
    const changing = <K extends keyof Memories>(side: K, memory: Memories[K]): Partial<State> => ({
      memories: { ...memories, [side]: { ...memory, version: memory.version + 1 } },
    })
    const { established } = worker
    const isOnMesh = coordinator.established
    return [
      {
        name: 'the cluster changes',
        once: 'words',
        change: changing('worker', { ...worker, established: !established }),
      },
      {
        ...{ name: 'the mesh changes', once: 'words' },
        change: changing('coordinator', { ...coordinator, established: !isOnMesh }),
      },
      { name: 'the wish changes', once: 'wishes', change: changing('beacon', { ...beacon, wish: !beacon.wish }) },
    ]
  }

  return {
    ...{ start: START, objects: OBJECTS, titles: TITLES, bounds, isCompared: true, told, wrongIn, isAsTold },
    processes: ['worker', 'coordinator', 'beacon'],
    reads: { worker: [LABELS], coordinator: [OWN, POLICIES], beacon: [BASIS] },
    offers: { worker: { claim: 0 }, coordinator: { claim: 1, offer: 0 }, beacon: { offer: 1 } },
    plan: (state, side, objects) => {
      if (side === 'worker') return planOfWorker(state, objects)
      if (side === 'coordinator') return planOfCoordinator(state, objects)
      const { beacon, coordinator } = state.memories
      const { claim } = coordinator
      return planOfBeacon(beacon, objects, { basis: BASIS, of: 'coordinator', as: { claim }, claim, has })
    },
    isStill: ({ memories }, { of, as }) => isStill(memories[of], as),
  }
}

export const explore = (bounds: graph.Spent, off?: Rule): graph.Explored =>
  graph.exploreAll(createProtocol(bounds, new Set(off && [off])))
