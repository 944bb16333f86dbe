import { claimAfter, claimBefore, isApplied, type Sees } from '../../../../src/core/relations/offers/offer-and-claim.ts'
import type { Claim } from '../../../../src/core/state/relation.ts'
import { BEACON, type Beacon, type BeaconRule, isStill, planOfBeacon } from './beacon-model.ts'
import * as graph from './interleavings.ts'
import { isSame, type Objects, when, writing } from './interleavings.ts'

/**
 * An application takes the offers of two beacons. It writes the policies of both, and one value of the label leads to a waypoint: that of the first
 * beacon, by the id of the relation, that offers one.
 */

export type Rule =
  | BeaconRule
  /** Policies of a beacon come before labels that lead to its waypoint. */
  | 'guarded'
  /** Those of the other one go after labels lead elsewhere. */
  | 'replaced'
  /** A claim is dropped once the labels lead elsewhere. */
  | 'released'
  /** Labels stay while an offer cannot be read. */
  | 'unknown'

/** The label, of which the value is that of the first or the second waypoint; for each the policies, and the waypoint. */
const LABELS = 0
const POLICIES = [1, 2] as const
const BASES = [3, 4] as const
const TITLES = ['labels', 'policies 1', 'policies 2', 'waypoint 1', 'waypoint 2']

type Requirer = graph.Memory & {
  readonly established1: boolean
  readonly established2: boolean
  readonly claim1: Claim | undefined
  readonly claim2: Claim | undefined
}
type Memories = { readonly requirer: Requirer; readonly beacon1: Beacon; readonly beacon2: Beacon }
type State = graph.State<Memories>
type Operation = graph.Operation<Memories>

const START: Memories = {
  requirer: {
    ...{ version: 0, isWriting: false, established1: true, established2: true },
    ...{ claim1: undefined, claim2: undefined },
  },
  ...{ beacon1: BEACON, beacon2: BEACON },
}

const OBJECTS: Objects = [
  [0, 0],
  [false, -1],
  [false, -1],
  [true, 1],
  [true, 1],
]

const wrongIn = ({ objects }: State): string | undefined => {
  const [led = 0, ...stands] = objects.map(([value]) => value)
  if (typeof led !== 'number' || led === 0) return undefined
  if (stands[led - 1] !== true) return `pods are led to waypoint ${led} without its policies`
  return stands[led + 1] === true ? undefined : `pods are led to waypoint ${led}, which is gone`
}

/** Both sides of each relation. */
const bothIn = ({ requirer, beacon1, beacon2 }: Memories) => [
  { established: requirer.established1, claim: requirer.claim1, beacon: beacon1, of: 'beacon1' as const },
  { established: requirer.established2, claim: requirer.claim2, beacon: beacon2, of: 'beacon2' as const },
]

const isAsTold = ({ memories, objects }: State): boolean => {
  const both = bothIn(memories)
  const on = both.map(({ established, beacon }) => established && beacon.wish)
  const wanted = [on.indexOf(true) + 1, ...on, ...both.map(({ beacon }) => beacon.wish)]
  const isTaken = both.every(({ claim, beacon }, index) =>
    on[index] ? isApplied(claim, `${beacon.offer}`) : claim === undefined,
  )
  const isSaid = both.every(({ beacon }) => beacon.isOffered === beacon.wish)
  return isTaken && isSaid && objects.every(([value], target) => value === wanted[target])
}

const createProtocol = (bounds: graph.Spent, off: ReadonlySet<Rule>): graph.Protocol<Memories> => {
  const has = (rule: Rule) => !off.has(rule)

  /** The memory of the first beacon is the one that cannot be read. */
  const sees = (isUnread: boolean, { established, beacon }: ReturnType<typeof bothIn>[number]): Sees => {
    if (!established) return 'nothing'
    if (isUnread) return has('unknown') ? 'unknown' : 'nothing'
    return beacon.isOffered ? { offer: `${beacon.offer}` } : 'nothing'
  }

  const planOfRequirer = ({ memories, isUnreadable }: State, objects: Objects): Operation[] => {
    const { isWriting } = memories.requirer
    const both = bothIn(memories).map((one, index) => {
      const seen = sees(isUnreadable && index === 0, one)
      const claim = claimBefore(one.claim, seen)
      const after = claimAfter(claim, seen, { isDone: true, mayRemain: false })
      return { ...one, seen, before: claim, after, isOn: typeof seen === 'object' }
    })
    if (both.some(({ seen }) => seen === 'unknown')) return []
    const write = writing(objects, isWriting && has('touch'))
    const policies = (isOn: boolean) =>
      both.flatMap((one, index) => (one.isOn === isOn ? write(POLICIES[index === 0 ? 0 : 1], isOn) : []))
    const labels = write(LABELS, both.findIndex(({ isOn }) => isOn) + 1)
    const [first, last] = [policies(true), policies(false)]
    const guarded = has('guarded') ? [...first, ...labels] : [...labels, ...first]
    const writes = has('replaced') ? [...guarded, ...last] : [...last, ...guarded]
    const saving = (name: string, [claim1, claim2]: readonly (Claim | undefined)[], isNow: boolean): Operation => ({
      ...{ do: 'save', name, change: { claim1, claim2, isWriting: isNow } },
    })
    const end = saving(
      'saves',
      both.map(({ after }) => after),
      false,
    )
    if (writes.length === 0 && !isWriting)
      return when(
        both.some(({ claim, after }) => !isSame(claim, after)),
        end,
      )
    const claims = both.map(({ before, after }) => (has('released') || after !== undefined ? before : after))
    return [
      saving(`saves ${claims.map((claim) => claim?.phase)}`, claims, true),
      ...both.flatMap(({ before, of, beacon: { offer } }) =>
        when<Operation>(has('reread') && before?.phase === 'claiming', {
          ...{ do: 'read', name: `reads the offer of ${of} again`, of, as: { offer } },
        }),
      ),
      ...writes,
      end,
    ]
  }

  const told = ({ memories, isUnreadable }: State): graph.Told<Memories>[] => {
    const { requirer, beacon1, beacon2 } = memories
    const changing = (change: Partial<Memories>): Partial<State> => ({ memories: { ...memories, ...change } })
    const wishing = (beacon: Beacon): Beacon => ({ ...beacon, version: beacon.version + 1, wish: !beacon.wish })
    const relating = (change: Partial<Requirer>) =>
      changing({ requirer: { ...requirer, version: requirer.version + 1, ...change } })
    return [
      { name: 'relation 1 changes', once: 'words', change: relating({ established1: !requirer.established1 }) },
      { name: 'relation 2 changes', once: 'words', change: relating({ established2: !requirer.established2 }) },
      { name: 'the wish of beacon1 changes', once: 'wishes', change: changing({ beacon1: wishing(beacon1) }) },
      { name: 'the wish of beacon2 changes', once: 'wishes', change: changing({ beacon2: wishing(beacon2) }) },
      isUnreadable
        ? { name: 'beacon1 can be read again', change: { isUnreadable: false } }
        : { name: 'beacon1 cannot be read', once: 'outages', change: { isUnreadable: true } },
    ]
  }

  return {
    ...{ start: START, objects: OBJECTS, titles: TITLES, bounds, isCompared: true, told, wrongIn, isAsTold },
    processes: ['requirer', 'beacon1', 'beacon2'],
    reads: { requirer: [LABELS, ...POLICIES], beacon1: [BASES[0]], beacon2: [BASES[1]] },
    offers: { requirer: { claim1: 0, claim2: 1 }, beacon1: { offer: 0 }, beacon2: { offer: 1 } },
    plan: (state, side, objects) => {
      if (side === 'requirer') return planOfRequirer(state, objects)
      const { beacon1, beacon2, requirer } = state.memories
      const { claim1, claim2 } = requirer
      return side === 'beacon1'
        ? planOfBeacon(beacon1, objects, { basis: BASES[0], of: 'requirer', as: { claim1 }, claim: claim1, has })
        : planOfBeacon(beacon2, objects, { basis: BASES[1], of: 'requirer', as: { claim2 }, claim: claim2, has })
    },
    isStill: ({ memories, isUnreadable }, { of, as }) =>
      isStill(memories[of], as) && !(of === 'beacon1' && isUnreadable),
    wrongPlan: ({ memories, isUnreadable }, side, plan) =>
      side === 'requirer' && isUnreadable && memories.requirer.established1 && plan.length > 0
        ? 'labels are to go, though nobody knows that the offer is withdrawn'
        : undefined,
  }
}

export const explore = (bounds: graph.Spent, off?: Rule): graph.Explored =>
  graph.exploreAll(createProtocol(bounds, new Set(off && [off])))
