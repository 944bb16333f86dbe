import type { Claim } from '../../../../src/core/state/relation.ts'

/**
 * One graph of states of applications that each have a memory, and of the objects that they write: every order of the calls of processes that die
 * between any two, and of writes that are executed later. A protocol says what a process plans by what it has read.
 */

export type Value = boolean | number
/** Its value, and its resourceVersion: below zero where there is no object. */
export type Standing = readonly [value: Value, version: number]
export type Objects = readonly Standing[]

/** `isWriting`: a step has saved it before its first write, and has not ended. */
export type Memory = { readonly version: number; readonly isWriting: boolean }
export type Memories = Readonly<Record<string, Memory>>
export type Side<M extends Memories> = keyof M & string

export type Write = { readonly do: 'write'; readonly target: number; readonly value: Value }
export type Operation<M extends Memories> =
  | { readonly do: 'save'; readonly name: string; readonly change: Partial<M[Side<M>]> }
  /** Reads a memory again, and starts over where `as` does not hold any more. */
  | { readonly do: 'read'; readonly name: string; readonly of: Side<M>; readonly as: Partial<M[Side<M>]> }
  | Write

/** What a process has read: the version of its memory, and its objects. */
type Look = { readonly version: number; readonly seen: Objects }
/** `at`: the moment at which the writes were decided, absent where that does not matter. */
type Planned<M extends Memories> = Look & { readonly at: number | undefined; readonly plan: readonly Operation<M>[] }
type Process<M extends Memories> = undefined | Look | Planned<M>
type Late = Write & { readonly version: number; readonly at: number | undefined }

/** How often others do something: each by its name. */
export type Spent = Readonly<Record<string, number>>

export type State<M extends Memories> = {
  readonly memories: M
  readonly objects: Objects
  readonly processes: readonly Process<M>[]
  readonly late: readonly Late[]
  readonly isUnreadable: boolean
  readonly spent: Spent
}

/** What somebody else does, `once` for each of `of` in the bounds. */
export type Told<M extends Memories> = {
  readonly name: string
  readonly once?: string
  readonly change: Partial<State<M>>
}

export type Protocol<M extends Memories> = {
  readonly start: M
  readonly objects: Objects
  readonly titles: readonly string[]
  /** The side of each process. */
  readonly processes: readonly Side<M>[]
  readonly bounds: Spent
  /** The objects that a side reads. */
  readonly reads: Readonly<Record<Side<M>, readonly number[]>>
  /** The fields of memories that have versions of an offer: which one. */
  readonly offers: Readonly<Record<Side<M>, Readonly<Record<string, number>>>>
  /** Whoever saves compares. */
  readonly isCompared: boolean
  plan(state: State<M>, side: Side<M>, objects: Objects): readonly Operation<M>[]
  isStill(state: State<M>, operation: Extract<Operation<M>, { readonly do: 'read' }>): boolean
  told(state: State<M>): readonly Told<M>[]
  isAsTold(state: State<M>): boolean
  /** What is wrong after a write to `target`. */
  wrongIn(state: State<M>, target: number, at: number | undefined): string | undefined
  /** What is wrong with a plan. */
  wrongPlan?(state: State<M>, side: Side<M>, plan: readonly Operation<M>[]): string | undefined
  /** The moment at which a side decides, or reads a memory again. */
  momentOf?(state: State<M>, of: Side<M>): number | undefined
}

type Next<M extends Memories> = {
  readonly name: string
  readonly state: State<M>
  readonly wrong?: string | undefined
}

export const when = <T>(isDue: boolean, ...operations: T[]): T[] => (isDue ? operations : [])

export const isSame = (one: Claim | undefined, other: Claim | undefined): boolean =>
  one?.phase === other?.phase && one?.version === other?.version

export const standsIn = (objects: Objects, target: number): boolean => objects[target]?.[0] === true

/** Plans the write of a target that is not as it should be. Whoever goes on after a step that has not ended writes to each once. */
export const writing =
  (objects: Objects, isFencing: boolean) =>
  (target: number, value: Value): Write[] => {
    const [stands, version] = objects[target] as Standing
    return when(stands !== value || (isFencing && version >= 0), { do: 'write', target, value })
  }

const createSteps = <M extends Memories>(protocol: Protocol<M>) => {
  const { titles, processes: sides, bounds, isCompared } = protocol
  const sideOf = (index: number) => sides[index] as Side<M>
  const titleOf = ({ target, value }: Write): string =>
    `${value === false ? 'removes' : 'writes'} ${titles[target]}${value === true || value === false ? '' : ` ${value}`}`

  const withProcess = (state: State<M>, index: number, process: Process<M>): State<M> => ({
    ...state,
    processes: state.processes.with(index, process),
  })

  /** Executes a write that is bound to a version of its target; one that creates it, to that there is none. */
  const written = (state: State<M>, { target, value }: Write, version: number, at?: number): Partial<Next<M>> => {
    const [stood, current] = state.objects[target] as Standing
    if (version < 0 ? current >= 0 : current !== version) return {}
    const isCreated = protocol.objects[target]?.[1] !== 0
    const now = Math.abs(current) + 1
    const objects = state.objects.with(target, [value, isCreated && value === false ? -now : now])
    const next = { ...state, objects }
    return { state: next, wrong: stood === value ? undefined : protocol.wrongIn(next, target, at) }
  }

  /** The next thing that a process does: it reads its memory and objects, then the peers' memories, then it does what it has planned. */
  const step = (state: State<M>, index: number): Next<M> => {
    const process = state.processes[index]
    if (process !== undefined) return 'plan' in process ? call(state, index, process) : planned(state, index, process)
    const { version } = state.memories[sideOf(index)] as Memory
    return { name: 'reads its objects', state: withProcess(state, index, { version, seen: state.objects }) }
  }

  const planned = (state: State<M>, index: number, { seen, version }: Look): Next<M> => {
    const side = sideOf(index)
    const plan = protocol.plan(state, side, seen)
    const at = protocol.momentOf?.(state, side)
    return {
      name: 'plans',
      state: withProcess(state, index, plan.length === 0 ? undefined : { seen, version, at, plan }),
      wrong: protocol.wrongPlan?.(state, side, plan),
    }
  }

  type Called = Partial<Next<M> & Planned<M>> & Pick<Next<M>, 'name'>

  /** Without a state after its call, a process starts over. */
  const call = (from: State<M>, index: number, process: Planned<M>): Next<M> => {
    const [operation, ...plan] = process.plan as [Operation<M>, ...Operation<M>[]]
    const { name, wrong, state, ...changed } = called(from, sideOf(index), process, operation)
    const isOver = state === undefined || plan.length === 0
    const next = withProcess(state ?? from, index, isOver ? undefined : { ...process, ...changed, plan })
    return { name, wrong, state: next }
  }

  const called = (state: State<M>, side: Side<M>, { version, seen, at }: Planned<M>, one: Operation<M>): Called => {
    if (one.do === 'write') return { name: titleOf(one), ...written(state, one, (seen[one.target] as Standing)[1], at) }
    if (one.do === 'save') return { name: one.name, ...saved(state, side, version, one.change) }
    const now = protocol.momentOf?.(state, one.of) ?? at
    return { name: one.name, ...(protocol.isStill(state, one) && { state, at: now }) }
  }

  const saved = (state: State<M>, side: Side<M>, version: number, change: object): Partial<Called> => {
    const memory = state.memories[side] as Memory
    if (memory.version !== version && isCompared) return {}
    const next = { ...memory, ...change, version: memory.version + 1 }
    return { state: { ...state, memories: { ...state.memories, [side]: next } }, version: next.version }
  }

  /** A process that has saved nothing since another one did starts over, at the latest when it would save. */
  const withoutOvertaken = (state: State<M>): State<M> => {
    const isOver = (process: Process<M>, index: number) => {
      const [next] = process && 'plan' in process ? process.plan : []
      const isToSave = next === undefined || next.do === 'save'
      return isToSave && process !== undefined && process.version !== state.memories[sideOf(index)]?.version
    }
    if (!isCompared || !state.processes.some(isOver)) return state
    return { ...state, processes: state.processes.map((one, index) => (isOver(one, index) ? undefined : one)) }
  }

  const nexts = (state: State<M>): Next<M>[] =>
    possible(state).map((next) => ({ ...next, state: withoutOvertaken(next.state) }))

  const possible = (state: State<M>): Next<M>[] => [
    ...state.processes.map((_, index) => {
      const next = step(state, index)
      return { ...next, name: `${sideOf(index)} ${next.name}` }
    }),
    ...protocol.told(state).flatMap((one) => spending(state, one)),
    ...state.processes.flatMap((process, index) => (process && 'plan' in process ? dying(state, process, index) : [])),
    ...state.late.map((one, index) => {
      const left = { ...state, late: state.late.toSpliced(index, 1) }
      return { name: `${titleOf(one)} late`, state: left, ...written(left, one, one.version, one.at) }
    }),
  ]

  const spending = (state: State<M>, { name, once, change }: Told<M>): Next<M>[] => {
    if (once === undefined) return [{ name, state: { ...state, ...change } }]
    const before = state.spent[once] ?? 0
    if (before >= (bounds[once] ?? 0)) return []
    return [{ name, state: { ...state, ...change, spent: { ...state.spent, [once]: before + 1 } } }]
  }

  /** A process dies. The write that it had sent may be executed later. */
  const dying = (state: State<M>, { seen, at, plan }: Planned<M>, index: number): Next<M>[] => {
    const sent = plan.slice(0, 1).filter((one) => one.do === 'write')
    const late = sent.map((one) => ({ ...one, version: (seen[one.target] as Standing)[1], at }))
    const { processes } = withProcess(state, index, undefined)
    const change = { processes, late: [...state.late, ...late] }
    return spending(state, { name: `${sideOf(index)} dies`, once: 'deaths', change })
  }

  /** Runs a process to the end of its plan. Undefined if it does something wrong. */
  const runAlone = (from: State<M>, index: number): State<M> | undefined => {
    const { state, wrong } = step(from, index)
    if (wrong !== undefined) return undefined
    return state.processes[index] === undefined ? state : runAlone(state, index)
  }

  const all = [...new Set(sides)]

  /** Runs all sides alone until they are quiet, and tells whether all is as it was told. */
  const settles = (from: State<M>): boolean => {
    let state: State<M> | undefined = { ...from, late: [], isUnreadable: false }
    for (let round = 0; round < 14 && state !== undefined; round += 1) {
      const calm: State<M> = state
      if (all.every((side) => protocol.plan(calm, side, calm.objects).length === 0)) return protocol.isAsTold(calm)
      for (const side of all) state = state && runAlone(state, sides.indexOf(side))
    }
    return false
  }

  const problemIn = ({ state, wrong }: Next<M>): string | undefined => {
    const isCalm = state.processes.every((process) => process === undefined)
    return wrong ?? (isCalm && !settles(state) ? 'it does not come to rest as it was told' : undefined)
  }

  return { nexts, problemIn }
}

export type Explored = { readonly states: number; readonly history?: string[] }

type Parents = Map<string, readonly [key: string, name: string] | undefined>

/** Explores every order of calls, and answers with how many states there are, and with the first history that goes wrong. */
export const exploreAll = <M extends Memories>(protocol: Protocol<M>): Explored => {
  const { nexts, problemIn } = createSteps(protocol)
  const keyOf = createKey(protocol)
  const spent = Object.fromEntries(Object.keys(protocol.bounds).map((name) => [name, 0]))
  const start: State<M> = {
    ...{ memories: protocol.start, objects: protocol.objects, late: [], isUnreadable: false, spent },
    processes: protocol.processes.map(() => undefined),
  }
  const parents: Parents = new Map([[keyOf(start), undefined]])
  const todo: { readonly state: State<M>; readonly key: string }[] = [{ state: start, key: keyOf(start) }]
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

type Rank = (of: number, version: number) => number

/** States that differ in the numbers of versions alone are one: of each, the order counts. So are those whose processes of a side are swapped. */
const createKey = <M extends Memories>(protocol: Protocol<M>): ((state: State<M>) => string) => {
  const textOf = createText(protocol)
  return (state) => {
    const versions: number[][] = []
    textOf(state, (of, version) => {
      versions[of] ??= []
      const known = versions[of]
      if (!known.includes(version)) known.push(version)
      return 0
    })
    for (const known of versions) known?.sort((one, other) => one - other)
    return textOf(state, (of, version) => versions[of]?.indexOf(version) ?? 0)
  }
}

type Fields = readonly (readonly [field: string, offer: number | undefined])[]

/** What has versions of its own: each target, each memory, and each offer. */
const createText = <M extends Memories>({ start, processes: sides, objects: first, reads, offers }: Protocol<M>) => {
  const all = [...new Set(sides)]
  const numberOf = new Map(all.map((side, index) => [side, first.length + index]))
  const offerAt = first.length + all.length
  const targets = first.map((_, target) => target)
  const fieldsIn = (side: Side<M>): Fields =>
    [...new Set([...Object.keys(start[side] ?? {}), ...Object.keys(offers[side])])]
      .filter((field) => field !== 'version')
      .map((field) => [field, offers[side][field]])
  const fieldsBy = Object.fromEntries(all.map((side) => [side, fieldsIn(side)])) as Record<Side<M>, Fields>
  return ({ memories, objects, processes, late, isUnreadable, spent }: State<M>, rank: Rank): string => {
    const claimed = (of: number, claim: Claim | undefined) =>
      claim ? `${rank(offerAt + of, Number(claim.version))}${claim.phase}` : '-'
    const textOf = (of: number | undefined, value: unknown) => {
      if (of === undefined) return value
      return typeof value === 'number' ? rank(offerAt + of, value) : claimed(of, value as Claim | undefined)
    }
    const fieldsOf = (side: Side<M>, fields: object) => {
      let text = ''
      for (const [field, of] of fieldsBy[side])
        if (field in fields) text += ` ${textOf(of, fields[field as keyof typeof fields])}`
      return text
    }
    const standing = (some: Objects, of: readonly number[]) => {
      let text = ''
      for (const target of of) {
        const [value, version] = some[target] as Standing
        text += `${value === true ? '+' : value || '-'}${version < 0 ? '' : rank(target, version)},`
      }
      return text
    }
    const operationOf = (side: Side<M>, one: Operation<M>): string => {
      if (one.do === 'write') return `${one.target} ${one.value}`
      return one.do === 'save' ? `save${fieldsOf(side, one.change)}` : `read ${one.of}${fieldsOf(one.of, one.as)}`
    }
    const versionOf = (side: Side<M>, version: number) => rank(numberOf.get(side) ?? 0, version)
    const textOfMemory = (side: Side<M>, memory: Memory) =>
      `${versionOf(side, memory.version)}${fieldsOf(side, memory)}`
    const processOf = (process: Process<M>, index: number) => {
      const side = sides[index] as Side<M>
      if (process === undefined) return side
      const look = `${side} ${versionOf(side, process.version)} ${standing(process.seen, reads[side])}`
      if (!('plan' in process)) return look
      return `${look} ${process.at === spent.words} ${process.plan.map((one) => operationOf(side, one))}`
    }
    const lateOf = ({ target, value, version, at }: Late) =>
      `${target} ${value} ${version < 0 ? '' : rank(target, version)} ${at === spent.words}`
    return [
      ...all.map((side) => textOfMemory(side, memories[side] as Memory)),
      `${standing(objects, targets)} ${isUnreadable} ${Object.values(spent)}`,
      ...processes.map(processOf).sort(),
      ...late.map(lateOf).sort(),
    ].join('\n')
  }
}
