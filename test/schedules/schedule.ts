import type { Actor } from './actor.ts'
import { FAULTS } from './faults.ts'
import { memoryName, namespaceOf } from './fixture.ts'
import type { Plan } from './plan.ts'
import { isMemoryDeleted, type Platform } from './platform.ts'
import type { Random } from './random.ts'
import { type Letter, objectNamed, type World } from './world.ts'

/** What a schedule has left to do wrong. */
type Budget = { crashes: number; losses: number; doubles: number; disturbances: number }

export type Schedule = {
  /** Lets events be taken one after another, in the order in which they were sent, until there are none. */
  runCalmly(): Promise<void>
  /** Lets everything happen in a random order until nothing is left, with faults as long as there is a budget for them. */
  run(facts?: readonly (() => void)[], budget?: Budget): Promise<void>
}

/** Deliveries and calls in one history; more are an endless ring. */
const MOST_MOVES = 6_000

/** Events that one process has taken and not answered. */
const MOST_TAKEN = 4

export const NO_FAULTS: Budget = { crashes: 0, losses: 0, doubles: 0, disturbances: 0 }

export class Ring extends Error {}

/** An event without an order waits for those that were sent before it: they count in the order in which they come. */
const isDeliverable = (letter: Letter): boolean => letter.after.every(({ isAnswered }) => isAnswered)

export const createSchedule = (world: World, random: Random, plan: Plan): Schedule => {
  let moves = 0
  let current: Actor | undefined

  const count = () => {
    moves += 1
    if (moves > MOST_MOVES) throw new Ring(`${moves} moves and no end: ${world.totals.published} events were sent`)
  }

  // clocks of senders are behind, and those of receivers ahead: a time in the future counts when it comes, which nobody can foretell
  const skew = () => (plan.skew === 0 ? 0 : random.below(plan.skew))

  /** Looking takes time, and is for histories in which there is something to find. */
  const outdated = () => (plan.isRolling ? world.outdated() : [])

  /** Who may take one more event; undefined stands for a process that is to be started. */
  const takers = (): (Actor | undefined)[] => {
    if (!plan.isLasting) return world.actors.length < plan.atOnce ? [undefined] : []
    const running = [...world.actors, ...world.idle]
    // a process is its own sink where it is alone
    const most = plan.sink === 'own' ? 1 : plan.atOnce
    const ready = running.filter(({ taken }) => taken.length < MOST_TAKEN)
    return running.length < most ? [...ready, undefined] : ready
  }

  /** The calls of a process for several events are made in any order. */
  const step = (actor: Actor) => world.step(actor, actor.isLasting ? random.below(actor.pending.length) : 0)

  const runAll = async (actor: Actor): Promise<void> => {
    while (world.actors.includes(actor)) {
      count()
      await world.step(actor)
    }
  }

  const crash = (budget: Budget): boolean => {
    if (!current || !world.actors.includes(current) || budget.crashes === 0 || !random.chance(0.04)) return false
    budget.crashes -= 1
    world.crash(current, random.chance(0.5))
    current = undefined
    return true
  }

  const disturb = async (budget: Budget): Promise<boolean> => {
    const actor = budget.disturbances > 0 && world.actors.length > 0 ? random.pick(world.actors) : undefined
    if (actor === undefined || !random.chance(0.1)) return false
    budget.disturbances -= 1
    const [name, fault] = random.pick(Object.entries(FAULTS))
    await world.disturb(actor, name, fault)
    return true
  }

  const double = (letter: Letter): void => {
    world.course.faults.doubled += 1
    const { about: _, ...copy } = letter
    const isOrdered = plan.order !== 'none'
    const second: Letter = { ...copy, name: `${letter.name}, a double`, after: isOrdered ? [] : [letter] }
    world.network.push(second)
    if (isOrdered || hasMemory(world, letter.application)) return
    // nothing may be remembered of the first one, so no later word may come before the second one
    second.after = letter.after
    letter.after = [...letter.after, second]
  }

  const losesOrDoubles = (budget: Budget): boolean => {
    if (world.network.length === 0 || budget.losses + budget.doubles === 0) return false
    const letter = random.pick(world.network)
    if (budget.losses > 0 && isLosable(letter) && random.chance(0.1)) {
      budget.losses -= 1
      world.lose(letter)
      return true
    }
    if (budget.doubles === 0 || !random.chance(0.1)) return false
    budget.doubles -= 1
    double(letter)
    return true
  }

  /** Whose turn it is: the same again if that is patient, else anybody who is there. */
  const move = async (facts: (() => void)[]): Promise<boolean> => {
    if (current && world.actors.includes(current) && random.chance(plan.patience)) {
      await step(current)
      return true
    }
    const free = takers()
    const letters = free.length > 0 ? world.network.filter(isDeliverable) : []
    const options = [
      ...world.actors.map((actor) => async () => {
        current = actor
        await step(actor)
      }),
      ...letters.map((letter) => async () => {
        current = await world.deliver(letter, skew(), random.pick(free))
      }),
      ...outdated().map((pod) => async () => world.replace(pod)),
      ...world.late.filter(() => random.chance(0.2)).map((call) => async () => world.makeLate(call)),
      ...(facts.length > 0 ? [async () => facts.shift()?.()] : []),
    ]
    if (options.length === 0) return false
    await random.pick(options)()
    return true
  }

  return {
    runCalmly: async () => {
      for (;;) {
        const letter = world.network.find(isDeliverable)
        const [pod] = letter ? [] : outdated()
        if (pod) world.replace(pod)
        else if (letter) await runAll(await world.deliver(letter, 0, world.idle[0]))
        else return
        count()
      }
    },
    run: async (said = [], budget = { ...NO_FAULTS }) => {
      const facts = [...said]
      for (;;) {
        count()
        if (crash(budget) || losesOrDoubles(budget) || (await disturb(budget))) continue
        if (!(await move(facts))) return
      }
    },
  }
}

const hasMemory = ({ api }: World, application: string): boolean =>
  objectNamed(api, 'ConfigMap', memoryName(application), namespaceOf(application)) !== undefined

/** What Knative's broker holds is delivered in the end; a nudge, or what a source saw while its sink was away, is lost. */
const isLosable = ({ isPlatform, event }: Letter): boolean => !isPlatform || event.type.startsWith('dev.knative.')

/** Sends events of the platform that were not lost once more, each with that probability, in any order, but for those that still wait. */
export const redeliver = (world: World, platform: Platform, random: Random, probability: number): void => {
  const { letters } = platform.said
  const words = Map.groupBy(letters, ({ about }) => about)
  const sent = letters.filter((letter) => letter.isAnswered && random.chance(probability))
  for (const letter of random.shuffle(sent)) {
    const { about, ...others } = letter
    // whose memory was deleted, to them the first of several words may count again until the last one is redelivered as well
    const isWord = isMemoryDeleted(platform.said, letter.application) && (words.get(about)?.length ?? 0) > 1
    const name = `${letter.name}, redelivered`
    const again = { ...others, ...(isWord && { about }), name, attempts: 0, after: [], isAnswered: false }
    if (isWord) letters.push(again)
    world.network.push(again)
  }
}
