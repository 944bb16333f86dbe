import { claimAfter, claimBefore, isApplied, type Sees } from '../../../src/core/relations/offer-and-claim.ts'
import type { Claim } from '../../../src/core/state/relation.ts'

/**
 * The protocol between a provider that offers labels and a requirer that takes them, as one graph of states: every order of the calls of
 * processes that die between any two, and of writes that are executed later. What a step does next follows from the production functions.
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
type Target = 0 | 1 | 2 | 3 | 4 | 5
const TARGETS: readonly Target[] = [LABELS, POLICIES, WIDE, BASIS, NAMESPACE, DENY]
const TITLES = ['labels', 'policies', 'wide policies', 'basis', 'namespace', 'deny'] as const
const SEEN = { requirer: [LABELS, POLICIES, WIDE, NAMESPACE], provider: [BASIS, NAMESPACE, DENY] } as const
type Kind = keyof typeof SEEN

/** Whether it stands, and its resourceVersion. */
type Standing = readonly [stands: boolean, version: number]
type Objects = readonly [Standing, Standing, Standing, Standing, Standing, Standing]

/** `isWriting`: a step has saved it before its first write, and has not ended. */
type Memory = { readonly version: number; readonly isWriting: boolean }
type Requirer = Memory & { readonly established: boolean; readonly isWide: boolean; readonly claim: Claim | undefined }
type Provider = Memory & { readonly wish: Mode; readonly mode: Mode; readonly offer: number }

type Write = { readonly do: 'write'; readonly target: Target; readonly stands: boolean }
type Operation =
  | { readonly do: 'save claim'; readonly change: Pick<Requirer, 'claim' | 'isWriting'> }
  | { readonly do: 'save offer'; readonly change: Pick<Provider, 'offer' | 'mode' | 'isWriting'> }
  | { readonly do: 'read offer'; readonly offer: number }
  | { readonly do: 'read claims'; readonly of: number | 'none' }
  | Write

/** What a process has read: the version of its memory, and its objects. */
type Look = { readonly version: number; readonly seen: Objects }
/** `at`: how many words the platform had said when the writes were decided, absent where that does not matter. */
type Planned = Look & { readonly at: number | undefined; readonly plan: readonly Operation[] }
type Process = undefined | Look | Planned
type Late = Write & { readonly version: number; readonly at: number | undefined }

type State = {
  readonly requirer: Requirer
  readonly provider: Provider
  readonly objects: Objects
  readonly processes: readonly Process[]
  readonly late: readonly Late[]
  readonly isUnreadable: boolean
  readonly spent: Spent
}

type Next = { readonly name: string; readonly state: State; readonly wrong?: string | undefined }

const START: Omit<State, 'processes'> = {
  requirer: { version: 0, isWriting: false, established: false, isWide: false, claim: undefined },
  provider: { version: 0, isWriting: false, wish: 'pods', mode: 'pods', offer: 0 },
  objects: [
    [false, 0],
    [false, 0],
    [false, 0],
    [true, 0],
    [false, 0],
    [false, 0],
  ],
  late: [],
  isUnreadable: false,
  spent: { words: 0, wishes: 0, requests: 0, deaths: 0, outages: 0, losses: 0 },
}

const LOST: Claim = { version: '-1', phase: 'leaving' }

const when = (isDue: boolean, ...operations: Operation[]): Operation[] => (isDue ? operations : [])

const isSame = (one: Claim | undefined, other: Claim | undefined): boolean =>
  one?.phase === other?.phase && one?.version === other?.version

const isWideDue = ({ isWide }: Requirer, mode: Mode): boolean => isWide || mode === 'hardened'

const titleOf = ({ target, stands }: Write): string => `${stands ? 'writes' : 'removes'} ${TITLES[target]}`

const withProcess = (state: State, index: number, process: Process): State => ({
  ...state,
  processes: state.processes.with(index, process),
})

const wrongIn = ({ requirer, objects, spent }: State, target: Target, at: number | undefined): string | undefined => {
  const [labels, policies, wide, basis, namespace, deny] = objects.map(([stands]) => stands)
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

/** Executes a write that is bound to a version of its target. */
const written = (state: State, { target, stands }: Write, version: number, at: number | undefined): Partial<Next> => {
  const [stood, current] = state.objects[target]
  if (current !== version) return {}
  const objects = state.objects.with(target, [stands, version + 1]) as unknown as Objects
  const next = { ...state, objects }
  return { state: next, wrong: stood === stands ? undefined : wrongIn(next, target, at) }
}

/** Tells if all stands as the platform and the provider want it. */
const isAsTold = ({ requirer, provider: { wish, mode, offer }, objects }: State): boolean => {
  const { established, claim } = requirer
  const isOn = established && wish !== 'none'
  const isWide = isWideDue(requirer, wish)
  const policies = [isOn && !isWide, isOn && isWide]
  const wanted = [isOn && wish !== 'namespace', ...policies, wish !== 'none', wish === 'namespace', wish === 'hardened']
  const isClaimed = isOn ? isApplied(claim, String(offer)) : claim === undefined
  return isClaimed && mode === wish && objects.every(([stands], target) => stands === wanted[target])
}

const isOffered = ({ provider, isUnreadable }: State, offer: number): boolean =>
  provider.offer === offer && provider.mode !== 'none' && !isUnreadable

const createProtocol = (bounds: Bounds, off: ReadonlySet<Rule>) => {
  const has = (rule: Rule) => !off.has(rule)
  const kindOf = (index: number): Kind => (index < bounds.requirers ? 'requirer' : 'provider')

  const sees = ({ provider, isUnreadable }: State): Sees => {
    if (isUnreadable) return has('unknown') ? 'unknown' : 'nothing'
    return provider.mode === 'none' ? 'nothing' : { offer: String(provider.offer) }
  }

  const claiming = (claim: Claim | undefined, seen: Sees): Claim | undefined => {
    const before = claimBefore(claim, seen)
    return !has('leaving') && before?.phase === 'leaving' ? claim : before
  }

  /** Plans the write of a target that is not as it should be. Whoever goes on after a step that has not ended writes to each once. */
  const writing =
    (objects: Objects, { isWriting }: Memory) =>
    (target: Target, stands: boolean): Operation[] =>
      when(objects[target][0] !== stands || (has('touch') && isWriting), { do: 'write', target, stands })

  const planOfRequirer = (state: State, objects: Objects): Operation[] => {
    const { requirer, provider } = state
    const seen = requirer.established ? sees(state) : 'nothing'
    if (seen === 'unknown') return []
    const claim = claiming(requirer.claim, seen)
    const after = claimAfter(claim, seen, { isDone: true, mayRemain: false })
    const writes = seen === 'nothing' ? leave(state, objects) : take(state, objects)
    const end: Operation = { do: 'save claim', change: { claim: after, isWriting: false } }
    if (writes.length === 0 && !requirer.isWriting) return when(!isSame(requirer.claim, after), end)
    return [
      { do: 'save claim', change: { claim, isWriting: true } },
      ...when(has('reread') && seen !== 'nothing' && claim?.phase === 'claiming', {
        do: 'read offer',
        offer: provider.offer,
      }),
      ...writes,
      end,
    ]
  }

  const leave = ({ requirer }: State, objects: Objects): Operation[] =>
    ([LABELS, POLICIES, WIDE] as const).flatMap((target) => writing(objects, requirer)(target, false))

  const take = ({ requirer, provider: { mode } }: State, objects: Objects): Operation[] => {
    const write = writing(objects, requirer)
    const [wanted, stale] = isWideDue(requirer, mode) ? ([WIDE, POLICIES] as const) : ([POLICIES, WIDE] as const)
    // labels of the pods stay as they are until the namespace has them
    const isToStand = mode !== 'namespace' || (objects[LABELS][0] && !objects[NAMESPACE][0])
    const [before, after] = [[...write(wanted, true), ...write(LABELS, isToStand)], write(stale, false)]
    return has('widened') ? [...before, ...after] : [...after, ...before]
  }

  const planOfProvider = (state: State, objects: Objects): Operation[] => {
    const { provider, requirer } = state
    const { wish, mode, offer, isWriting } = provider
    const isMoving = mode !== wish
    const of = wish === 'none' ? wish : offer
    const isFree = !isMoving && isTaken(requirer, of)
    const writes = wantedByProvider(state, objects, isFree).flatMap(([target, stands]) =>
      writing(objects, provider)(target, stands),
    )
    const next = { offer: offer + Number(isMoving), mode: wish }
    const end: Operation = { do: 'save offer', change: { ...next, isWriting: false } }
    if (writes.length === 0 && !isWriting) return when(isMoving, end)
    const first = has('undone') ? { offer, mode } : next
    return [
      { do: 'save offer', change: { ...first, isWriting: true } },
      ...when(has('reread') && isFree, { do: 'read claims', of }),
      ...writes,
      end,
    ]
  }

  /** An offer that ends or changes denies nobody, and one that ends enrols nobody. All else waits until no claim is in the way. */
  const wantedByProvider = (
    { provider: { wish, mode } }: State,
    objects: Objects,
    isFree: boolean,
  ): readonly (readonly [Target, boolean])[] => [
    [BASIS, wish !== 'none' || (objects[BASIS][0] && !isFree)],
    [NAMESPACE, isFree ? wish === 'namespace' : objects[NAMESPACE][0] && wish !== 'none'],
    [DENY, mode === wish && (isFree || !has('awaited') ? wish === 'hardened' : objects[DENY][0])],
  ]

  const isTaken = ({ established, claim }: Requirer, of: number | 'none'): boolean => {
    if (of === 'none') return claim === undefined
    return !established || (has('phases') ? isApplied(claim, String(of)) : claim?.version === String(of))
  }

  const planOf = (state: State, kind: Kind, objects: Objects): Operation[] =>
    kind === 'requirer' ? planOfRequirer(state, objects) : planOfProvider(state, objects)

  /** The next thing that a process does: it reads its memory and objects, then the peer's memory, then it does what it has planned. */
  const step = (state: State, index: number): Next => {
    const process = state.processes[index]
    if (process !== undefined) return 'plan' in process ? call(state, index, process) : planned(state, index, process)
    const { version } = state[kindOf(index)]
    return { name: 'reads its objects', state: withProcess(state, index, { version, seen: state.objects }) }
  }

  const planned = (state: State, index: number, { seen, version }: Look): Next => {
    const kind = kindOf(index)
    const plan = planOf(state, kind, seen)
    const isRelated = kind === 'requirer' && state.requirer.established
    const at = isRelated ? state.spent.words : undefined
    const isBlind = isRelated && state.isUnreadable && plan.length > 0
    return {
      name: 'plans',
      state: withProcess(state, index, plan.length === 0 ? undefined : { seen, version, at, plan }),
      wrong: isBlind ? 'labels are to go, though nobody knows that the offer is withdrawn' : undefined,
    }
  }

  /** Without a state after its call, a process starts over. */
  const call = (from: State, index: number, process: Planned): Next => {
    const [operation, ...plan] = process.plan as [Operation, ...Operation[]]
    const { name, wrong, state, ...changed } = called(from, process, operation)
    const isOver = state === undefined || plan.length === 0
    const next = withProcess(state ?? from, index, isOver ? undefined : { ...process, ...changed, plan })
    return { name, wrong, state: next }
  }

  type Called = Partial<Next & Planned> & Pick<Next, 'name'>

  const called = (state: State, { version, seen, at }: Planned, operation: Operation): Called => {
    switch (operation.do) {
      case 'save claim': {
        const { change } = operation
        return { name: `saves ${change.claim?.phase ?? 'no claim'}`, ...saved(state, 'requirer', version, change) }
      }
      case 'save offer': {
        const { change } = operation
        return { name: `offers ${change.mode}`, ...saved(state, 'provider', version, change) }
      }
      case 'read offer':
        return { name: 'reads the offer again', ...(isOffered(state, operation.offer) && { state }) }
      case 'read claims': {
        const { requirer, spent } = state
        const seenAt = requirer.established ? spent.words : undefined
        return { name: 'reads the claims', ...(isTaken(requirer, operation.of) && { state, at: seenAt }) }
      }
      case 'write':
        return { name: titleOf(operation), ...written(state, operation, seen[operation.target][1], at) }
    }
  }

  const saved = (state: State, kind: Kind, version: number, change: Partial<Requirer & Provider>): Partial<Called> => {
    const memory = state[kind]
    if (memory.version !== version && has('compare')) return {}
    const next = { ...memory, ...change, version: memory.version + 1 }
    return { state: { ...state, [kind]: next }, version: next.version }
  }

  /** A process that has saved nothing since another one did starts over, at the latest when it would save. */
  const withoutOvertaken = (state: State): State => {
    const isOver = (process: Process, index: number) => {
      const [next] = process && 'plan' in process ? process.plan : []
      const isToSave = next === undefined || 'change' in next
      return isToSave && process !== undefined && process.version !== state[kindOf(index)].version
    }
    if (!has('compare') || !state.processes.some(isOver)) return state
    return { ...state, processes: state.processes.map((one, index) => (isOver(one, index) ? undefined : one)) }
  }

  const nexts = (state: State): Next[] =>
    possible(state).map((next) => ({ ...next, state: withoutOvertaken(next.state) }))

  const possible = (state: State): Next[] => [
    ...state.processes.map((_, index) => {
      const next = step(state, index)
      return { ...next, name: `${kindOf(index)} ${next.name}` }
    }),
    ...told(state),
    ...state.processes.flatMap((process, index) => (process && 'plan' in process ? dying(state, process, index) : [])),
    ...state.late.map((one, index) => {
      const left = { ...state, late: state.late.toSpliced(index, 1) }
      return { name: `${titleOf(one)} late`, state: left, ...written(left, one, one.version, one.at) }
    }),
  ]

  const spending = (state: State, of: keyof Spent, name: string, change: Partial<State>): Next[] =>
    state.spent[of] < bounds[of]
      ? [{ name, state: { ...state, ...change, spent: { ...state.spent, [of]: state.spent[of] + 1 } } }]
      : []

  /** What others do: the platform, whoever configures the two, and who deletes memories or keeps them from being read. */
  const told = (state: State): Next[] => {
    const { requirer, provider, isUnreadable } = state
    const changed = (change: Partial<Requirer>) => ({
      requirer: { ...requirer, version: requirer.version + 1, ...change },
    })
    // labels that may stand were taken, whatever the memory says: what is lost counts as a claim until it is known to be gone
    const lost = { claim: has('taken') ? LOST : undefined, isWriting: has('taken') }
    return [
      ...spending(state, 'words', 'the platform speaks', changed({ established: !requirer.established })),
      ...spending(state, 'requests', 'the requirer is to ask for others', changed({ isWide: !requirer.isWide })),
      ...spending(state, 'losses', 'the memory of the requirer is deleted', changed(lost)),
      ...bounds.modes.flatMap((wish) => {
        const told = { provider: { ...provider, version: provider.version + 1, wish } }
        return wish === provider.wish ? [] : spending(state, 'wishes', `the provider is to offer ${wish}`, told)
      }),
      ...(isUnreadable
        ? [{ name: 'the offer can be read again', state: { ...state, isUnreadable: false } }]
        : spending(state, 'outages', 'the offer cannot be read', { isUnreadable: true })),
    ]
  }

  /** A process dies. The write that it had sent may be executed later. */
  const dying = (state: State, { seen, at, plan }: Planned, index: number): Next[] => {
    const sent = plan.slice(0, 1).filter((one) => one.do === 'write')
    const late = sent.map((one) => ({ ...one, version: seen[one.target][1], at }))
    const { processes } = withProcess(state, index, undefined)
    return spending(state, 'deaths', `${kindOf(index)} dies`, { processes, late: [...state.late, ...late] })
  }

  /** Runs a process to the end of its plan. Undefined if it does something wrong. */
  const runAlone = (from: State, index: number): State | undefined => {
    const { state, wrong } = step(from, index)
    if (wrong !== undefined) return undefined
    return state.processes[index] === undefined ? state : runAlone(state, index)
  }

  const isQuiet = (state: State): boolean =>
    (['requirer', 'provider'] as const).every((kind) => planOf(state, kind, state.objects).length === 0)

  /** Runs both sides alone until they are quiet, and tells whether all is as the platform and the provider want it. */
  const settles = (from: State): boolean => {
    let state: State | undefined = { ...from, late: [], isUnreadable: false }
    for (let round = 0; round < 14 && state !== undefined; round += 1) {
      if (isQuiet(state)) return isAsTold(state)
      const half: State | undefined = runAlone(state, 0)
      state = half && runAlone(half, bounds.requirers)
    }
    return false
  }

  const problemIn = ({ state, wrong }: Next): string | undefined => {
    const isCalm = state.processes.every((process) => process === undefined)
    return wrong ?? (isCalm && !settles(state) ? 'it does not come to rest as it was told' : undefined)
  }

  return { nexts, problemIn, keyOf: createKey(kindOf) }
}

type Parents = Map<string, readonly [key: string, name: string] | undefined>

/** Explores every order of calls, and answers with how many states there are, and with the first history that goes wrong. */
export const explore = (bounds: Bounds, off?: Rule): { readonly states: number; readonly history?: string[] } => {
  const { nexts, problemIn, keyOf } = createProtocol(bounds, new Set(off && [off]))
  const start = { ...START, processes: Array.from({ length: bounds.requirers + bounds.providers }, () => undefined) }
  const parents: Parents = new Map([[keyOf(start), undefined]])
  const todo: { readonly state: State; readonly key: string }[] = [{ state: start, key: keyOf(start) }]
  for (let from = todo.pop(); from !== undefined; from = todo.pop()) {
    const { state, key } = from
    for (const next of nexts(state)) {
      const other = keyOf(next.state)
      if (parents.has(other) && next.wrong === undefined) continue
      const problem = problemIn(next)
      if (problem) return { states: parents.size, history: [...pathTo(key, parents), next.name, problem] }
      parents.set(other, [key, next.name])
      todo.push({ state: next.state, key: other })
    }
  }
  return { states: parents.size }
}

const pathTo = (key: string, parents: Parents): string[] => {
  const parent = parents.get(key)
  return parent === undefined ? [] : [...pathTo(parent[0], parents), parent[1]]
}

/** What has versions of its own: each target, the two memories, and the offer. */
const NUMBERED = { requirer: 6, provider: 7, offer: 8 } as const
type Numbered = Target | 6 | 7 | 8
type Rank = (of: Numbered, version: number) => number

/** States that differ in the numbers of versions alone are one: of each, the order counts. So are those whose processes of a side are swapped. */
const createKey =
  (kindOf: (index: number) => Kind) =>
  (state: State): string => {
    const versions: number[][] = [[], [], [], [], [], [], [], [], []]
    textOf(state, kindOf, (of, version) => (versions[of]?.includes(version) ? 0 : (versions[of]?.push(version) ?? 0)))
    for (const all of versions) all.sort((one, other) => one - other)
    return textOf(state, kindOf, (of, version) => versions[of]?.indexOf(version) ?? 0)
  }

const textOf = (state: State, kindOf: (index: number) => Kind, rank: Rank): string => {
  const { requirer, provider, objects, spent } = state
  const claimed = (claim: Claim | undefined) =>
    claim ? `${rank(NUMBERED.offer, Number(claim.version))}${claim.phase}` : '-'
  const offered = ({ mode, offer, isWriting }: Omit<Provider, 'version' | 'wish'>) =>
    `${mode} ${rank(NUMBERED.offer, offer)} ${isWriting}`
  const standing = (all: Objects, targets: readonly Target[]) => {
    let text = ''
    for (const target of targets) text += `${all[target][0] ? '+' : '-'}${rank(target, all[target][1])}`
    return text
  }
  const operation = (one: Operation): string => {
    if (one.do === 'save claim') return `claim ${claimed(one.change.claim)} ${one.change.isWriting}`
    if (one.do === 'save offer') return `offer ${offered(one.change)}`
    if (one.do === 'read offer') return `read ${rank(NUMBERED.offer, one.offer)}`
    if (one.do === 'read claims') return `reads ${one.of === 'none' ? one.of : rank(NUMBERED.offer, one.of)}`
    return `${one.target} ${one.stands}`
  }
  const processOf = (process: Process, index: number) => {
    const kind = kindOf(index)
    if (process === undefined) return kind
    const look = `${kind} ${rank(NUMBERED[kind], process.version)} ${standing(process.seen, SEEN[kind])}`
    return 'plan' in process ? `${look} ${process.at === spent.words} ${process.plan.map(operation)}` : look
  }
  const lateOf = ({ target, stands, version, at }: Late) =>
    `${target} ${stands} ${rank(target, version)} ${at === spent.words}`
  const { established, isWide } = requirer
  return [
    `${rank(NUMBERED.requirer, requirer.version)} ${established} ${isWide} ${requirer.isWriting} ${claimed(requirer.claim)}`,
    `${rank(NUMBERED.provider, provider.version)} ${provider.wish} ${offered(provider)} ${standing(objects, TARGETS)}`,
    `${state.isUnreadable} ${Object.values(spent)}`,
    ...state.processes.map(processOf).sort(),
    ...state.late.map(lateOf).sort(),
  ].join('\n')
}
