import type { Call } from './actor.ts'
import { watchMoments } from './monitor.ts'
import { createPlan, type Plan } from './plan.ts'
import { createPlatform, type Platform } from './platform.ts'
import { checkConvergence, checkEvents, checkQuiet, sendResync, type Violation } from './properties.ts'
import { createRandom, type Random } from './random.ts'
import { createSchedule, NO_FAULTS, Ring, redeliver, type Schedule } from './schedule.ts'
import { createWorld, type Echo, type World } from './world.ts'

/** What became of one history. */
export type Report = {
  violations: readonly Violation[]
  trace: readonly string[]
  calls: number
  steps: number
  published: number
  /** Events of the platform, each counted once. */
  told: number
}

type Options = { isTraced?: boolean }

/** Everything of one history. */
export type Run = { plan: Plan; world: World; platform: Platform; schedule: Schedule; random: Random }

export const createRun = (random: Random, plan: Plan, { isTraced = false }: Options = {}): Run => {
  const world = createWorld(plan.variant, { isTraced })
  const platform = createPlatform(world, { order: () => plan.order, skew: (side) => plan.offsets[side] ?? 0 })
  return { plan, world, platform, schedule: createSchedule(world, random, plan), random }
}

export const sidesOfRun = ({ plan }: Run): string[] =>
  plan.variant === 'chain' ? ['beacon', 'tempo', 'querier'] : ['beacon', 'details']

const beginnings = new Map<number, readonly Echo[]>()

/** Tells the calm facts; those of a beginning that was worked out before just leave what they left then. */
const begin = async ({ plan, platform, schedule, world }: Run, isTraced: boolean): Promise<void> => {
  const facts = plan.facts.slice(0, plan.calm)
  const known = plan.beginning === undefined || isTraced ? undefined : beginnings.get(plan.beginning)
  if (known) {
    facts.forEach((fact, index) => {
      platform.say(fact)
      const echo = known[index]
      if (echo) world.repeat(echo)
    })
    return
  }
  const echoes: Echo[] = []
  for (const fact of facts) {
    platform.say(fact)
    const stop = world.record()
    await schedule.runCalmly()
    echoes.push(stop())
  }
  if (plan.beginning !== undefined) beginnings.set(plan.beginning, echoes)
}

const race = async ({ plan, platform, schedule }: Run): Promise<void> => {
  const { crashes, losses, doubles } = plan
  const facts = plan.facts.slice(plan.calm).map((fact) => () => void platform.say(fact))
  await schedule.run(facts, { crashes, losses, doubles })
}

const makeLate = ({ world }: Run, isDue: (call: Call) => boolean): void => {
  for (const call of world.late.filter(isDue)) world.makeLate(call)
}

/** What is created late cannot be fenced: it comes before the events that say what is to be there. */
const isCreation = ({ request }: Call): boolean => request.method === 'POST'

/** A resync of one side mends what it or its peers wrote late; one of the whole namespace what was missed of documents. */
const pickSide = (run: Run): string | undefined => {
  const { world, platform, random } = run
  const isMissed = platform.letters.some(({ isAnswered }) => !isAnswered)
  if (isMissed) return undefined
  const wrote = world.late.map(({ application }) => application)
  if (wrote.includes('querier')) return random.pick(['querier', 'tempo'])
  if (wrote.includes('productpage')) return 'productpage'
  return random.pick(sidesOfRun(run))
}

/** What was lost comes back with every event alone; without an order the last of the same ones counts. */
const isAllNeeded = ({ plan, world, platform }: Run): boolean =>
  world.isLossy || platform.isTampered || plan.order === 'none'

/** Brings events once more, then one resync, and checks what has to hold in the end. */
export const finish = async (run: Run): Promise<Violation[]> => {
  const { plan, world, platform, schedule, random } = run
  world.log(() => '-- events again')
  const isEarly = random.chance(0.5)
  makeLate(run, (call) => isEarly || isCreation(call))
  redeliver(world, platform, random, isAllNeeded(run) ? 1 : plan.again)
  await schedule.run([], { ...NO_FAULTS })
  const side = pickSide(run)
  makeLate(run, () => true)
  world.log(() => `-- resync of ${side ?? 'the namespace'}`)
  sendResync(world, side)
  await schedule.run([], { ...NO_FAULTS })
  return [
    ...(await checkConvergence(plan.variant, platform, world)),
    ...checkEvents(world, platform.letters.length),
    ...(plan.isQuiet ? await checkQuiet(sidesOfRun(run), schedule, world) : []),
  ]
}

const describeError = (error: unknown): Violation =>
  error instanceof Ring
    ? { property: 'c: few events', details: [error.message] }
    : { property: 'the harness itself is right', details: [error instanceof Error ? `${error.stack}` : `${error}`] }

/** Checks a history that `act` makes happen: the properties of each moment, and those of its end. */
export const checkRun = async (run: Run, act: (run: Run) => Promise<void>, end = finish): Promise<Report> => {
  const { world, platform } = run
  const wrong = watchMoments(world, platform)
  const violations: Violation[] = []
  try {
    await act(run)
    violations.push(...(await end(run)))
  } catch (error) {
    violations.push(describeError(error))
  }
  if (wrong.length > 0) violations.push({ property: 'b: safe at every moment', details: [...new Set(wrong)] })
  if (world.refusals.length > 0)
    violations.push({ property: 'd: no event is answered with 500', details: world.refusals })
  return { violations, trace: world.trace, told: platform.letters.length, ...world.totals }
}

/** The history of a seed: the same one each time. */
export const runSeed = (seed: number, options: Options = {}): Promise<Report> => {
  const random = createRandom(seed)
  const run = createRun(random, createPlan(random), options)
  run.world.log(() => `seed ${seed}: ${JSON.stringify({ ...run.plan, facts: run.plan.facts.length })}`)
  return checkRun(run, async () => {
    await begin(run, options.isTraced === true)
    await race(run)
  })
}
