import { ABSENT } from '../../src/platform/kubernetes/apply-objects.ts'
import { ABILITY_TRAITS, namesOtherService } from './abilities.ts'
import type { Call } from './actor.ts'
import { BEACONS } from './fixture.ts'
import { letGo } from './hands.ts'
import { MEDDLING_TRAITS, withMeddling } from './meddling.ts'
import { createKnowledge, watchMoments } from './monitor.ts'
import { ALL_SIDES, createPlan, type Plan, sidesOfPlan } from './plan.ts'
import { createPlatform, isMemoryDeleted, type Platform } from './platform.ts'
import { checkConvergence, checkEvents, checkQuiet, sendResync, type Violation } from './properties.ts'
import { createRandom, type Random } from './random.ts'
import { watchReach } from './safety.ts'
import { createSchedule, NO_FAULTS, Ring, redeliver, type Schedule } from './schedule.ts'
import { PLAIN } from './surroundings.ts'
import { checkTold, checkWaits } from './told.ts'
import { findTruth, meshOf } from './truth.ts'
import { createWorld, type World } from './world.ts'

/** The violations of one history, or of several that begin alike, and how much they took together. */
export type Report = {
  violations: readonly Violation[]
  /** Of the history that is violated, where there is one. */
  trace: readonly string[]
  /** How many histories there were: ways in which one race came to its end. */
  histories: number
  calls: number
  steps: number
  /** The most events in one history. */
  published: number
  /** Events of the platform, each counted once. */
  told: number
  /** What the history had in it, in words. */
  traits: readonly string[]
}

type Options = {
  isTraced?: boolean
  /** How many calls fail on the way to the API server, or back, beside what the plan has. @default none */
  disturbances?: number
}

/** Everything of one history. */
export type Run = { plan: Plan; world: World; platform: Platform; schedule: Schedule; random: Random; options: Options }

const runIn = (world: World, random: Random, plan: Plan, options: Options, said?: Platform['said']): Run => {
  const skew = (side: string) => plan.offsets[side] ?? 0
  const platform = createPlatform(world, {
    order: () => plan.order,
    skew,
    isBackedUp: plan.meddling.has('restored'),
    ...(said && { said }),
  })
  watchMoments(world, platform)
  watchReach(world, createKnowledge(world, platform))
  return { plan, world, platform, schedule: createSchedule(world, random, plan), random, options }
}

export const createRun = (random: Random, plan: Plan, options: Options = {}): Run =>
  runIn(createWorld(plan.variant, { ...options, ...plan }), random, plan, options)

/** A run that goes on, by a plan of its own, from where another one is quiet. */
const copyRun = ({ world, platform, options }: Run, random: Random, plan: Plan): Run => {
  const versions: Platform['said']['versions'] = plan.meddling.has('restored') ? platform.said.versions : new Map()
  const { course, said } = structuredClone({ course: world.course, said: { ...platform.said, versions } })
  const copy = createWorld(plan.variant, { ...options, ...plan, before: { api: world.api, course } })
  return runIn(copy, random, plan, options, said)
}

export const sidesOfRun = ({ plan }: Run): string[] => sidesOfPlan(plan)

/** Runs that nothing goes on in: copies of them do. */
const beginnings = new Map<number, Run>()

const sayCalmly = async ({ plan, platform, schedule }: Run): Promise<void> => {
  for (const fact of plan.facts.slice(0, plan.calm)) {
    platform.say(fact)
    await schedule.runCalmly()
  }
}

/** Whoever goes on from a beginning may restore a memory of it. */
const BACKED_UP: Plan['meddling'] = new Set(['restored'])

/** Tells the calm facts, or goes on from where another history has told the same ones: these are told in plain surroundings. */
const begin = async (random: Random, plan: Plan, options: Options): Promise<Run> => {
  if (plan.beginning === undefined) {
    const run = createRun(random, plan, options)
    await sayCalmly(run)
    return run
  }
  const known = options.isTraced ? undefined : beginnings.get(plan.beginning)
  const begun = known ?? createRun(random, { ...plan, ...PLAIN, meddling: BACKED_UP }, options)
  if (known === undefined) await sayCalmly(begun)
  if (!options.isTraced) beginnings.set(plan.beginning, begun)
  return copyRun(begun, random, plan)
}

const race = async ({ plan, platform, schedule }: Run): Promise<void> => {
  const { crashes, losses, doubles, disturbances } = plan
  const facts = plan.facts.slice(plan.calm).map((fact) => () => void platform.say(fact))
  await schedule.run(facts, { crashes, losses, doubles, disturbances })
}

const makeLate = ({ world }: Run, isDue: (call: Call) => boolean): void => {
  for (const call of world.late.filter(isDue)) world.makeLate(call)
}

/** What is created late, where it is not, cannot be fenced: it comes before the events that say what is to be there. */
const isCreation = ({ request: { method, body } }: Call): boolean =>
  method === 'POST' ||
  (method === 'PATCH' && body !== undefined && JSON.parse(body).metadata?.resourceVersion === ABSENT)

/** The applications whose relations reach each other, once they are related: whichever of them gets a resync, what is wrong with the others is found. */
const CORES = { mesh: ['beacon', 'details'], chain: ['beacon', 'tempo'] } as const

/**
 * The applications of which a resync, each alone, has to mend all that the race left; undefined stands for the whole namespace, whose resync
 * always does, and alone mends what was missed of documents. What another application wrote late, or was not told, its own resync mends.
 */
const findEnds = (run: Run): (string | undefined)[] => {
  const { plan, world, platform } = run
  const isUnanswered = platform.said.letters.some(({ isAnswered }) => !isAnswered)
  // what a person did to objects or to a memory is told to nobody: the resync of the namespace finds it
  if (isUnanswered || isForgotten(platform) || plan.meddling.size > 0) return [undefined]
  const core: readonly string[] = CORES[plan.variant]
  const isRelated = platform.said.facts.some(
    (fact) =>
      'relation' in fact &&
      core.includes(fact.relation.provider.application) &&
      core.includes(fact.relation.requirer.application),
  )
  if (!isRelated) return [undefined]
  const touched = new Set([...world.late.flatMap(({ applications }) => applications), ...world.course.lost])
  const others = ALL_SIDES.filter((name) => touched.has(name) && !core.includes(name))
  // the resync of another application reaches its beacon, and no further
  const isBeyond = others.length === 1 && core.every((name) => touched.has(name))
  if (others.length > 1 || isBeyond) return [undefined]
  return [...(others.length === 0 ? sidesOfRun(run) : others), undefined]
}

/** Nothing is under way any more that nobody was told of, and nobody but the platform has done anything. */
const isAllHeard = ({ plan, world: { course, late } }: Run): boolean =>
  course.lost.length + late.length + plan.meddling.size === 0

/** What a lost memory alone knew of, another Service or the objects of a mesh that no config names any more: the namespace's resync finds it. */
const isForgotten = (platform: Platform): boolean => {
  const { said } = platform
  const truth = findTruth(platform)
  return (
    isServiceForgotten(said) ||
    BEACONS.some((beacon) => isMemoryDeleted(said, beacon) && meshOf(truth, beacon) === undefined)
  )
}

/** The labels of another Service that only an earlier config named, which a lost memory knew: no status can tell of them. */
const isServiceForgotten = (said: Platform['said']): boolean =>
  isMemoryDeleted(said, 'details') && said.facts.some((fact) => 'config' in fact && namesOtherService(fact.config))

/** What was lost comes back with every event alone; without an order the last of the same ones counts. */
const isAllNeeded = ({ plan, world, platform }: Run): boolean =>
  world.course.lost.length > 0 || isMemoryDeleted(platform.said) || plan.order === 'none'

/** Brings events once more; answers with the ends that are to be looked at. */
export const repeatEvents = async (run: Run): Promise<(string | undefined)[]> => {
  const { plan, world, platform, schedule, random } = run
  world.log(() => '-- events again')
  const ends = findEnds(run)
  const isEarly = random.chance(0.5)
  makeLate(run, (call) => isEarly || isCreation(call))
  redeliver(world, platform, random, isAllNeeded(run) ? 1 : plan.again)
  await schedule.run([], { ...NO_FAULTS })
  platform.said.isOutdated = false
  return ends
}

/** Brings one resync, and checks what has to hold in the end. */
export const finish = async (run: Run, side: string | undefined): Promise<Violation[]> => {
  const { plan, world, platform, schedule } = run
  makeLate(run, () => true)
  world.log(() => `-- resync of ${side ?? 'the namespace'}`)
  sendResync(world, side)
  await schedule.run([], { ...NO_FAULTS })
  const events = checkEvents(world, platform, plan.atOnce)
  const untold = plan.meddling.has('hands') ? await endHands(run, side) : []
  return [
    ...events,
    ...untold,
    ...(await checkConvergence(plan, platform, world)),
    ...(plan.isQuiet ? await checkQuiet(sidesOfRun(run), schedule, world) : []),
    ...(plan.isQuiet ? await checkWaits(platform, world) : []),
  ]
}

/** What was set otherwise is told until it is taken off, and is mended then. */
const endHands = async ({ plan, world, platform, schedule }: Run, side: string | undefined): Promise<Violation[]> => {
  const untold = await checkTold(plan, platform, world)
  platform.byHand(() => letGo(world))
  sendResync(world, side)
  await schedule.run([], { ...NO_FAULTS })
  return untold
}

const traitsOf = ({ plan, world: { course }, platform: { said } }: Run): string[] => {
  const has = (isThere: boolean, trait: string) => (isThere ? [trait] : [])
  return [
    plan.variant === 'chain' ? 'coordinator and worker' : 'consumer and clients',
    `ordered by ${plan.order}`,
    ...has(plan.calm > 0, 'calm beginning'),
    ...has(plan.isRolling, 'pods outlive their template'),
    ...has(plan.skew > 0, 'clocks apart'),
    ...has(plan.atOnce > 1 && plan.sink !== 'own', 'processes at once'),
    ...has(plan.isLasting, 'lasting processes'),
    ...has(course.together > 0, 'events taken together'),
    ...has(plan.sink === 'own', 'own sink'),
    ...has(plan.sink === 'called', 'sink that is waited for'),
    ...has(
      said.facts.some((fact) => 'form' in fact && fact.form === 'document'),
      'documents',
    ),
    ...has(
      said.facts.some(({ kind }) => kind === 'removed'),
      'application removed',
    ),
    ...has(isMemoryDeleted(said), 'memory deleted'),
    ...has(course.faults.killed > 0, 'process killed'),
    ...has(course.faults.late > 0, 'call executed late'),
    ...has(course.lost.length > 0, 'nudge lost'),
    ...has(course.faults.doubled > 0, 'event doubled'),
    ...has(course.faults.disturbed > 0, 'call disturbed'),
    ...has(plan.isQuiet, 'checked for quiet'),
    ...[...plan.abilities].map((ability) => ABILITY_TRAITS[ability]),
    ...[...plan.meddling].map((meddling) => MEDDLING_TRAITS[meddling]),
    ...has(
      said.facts.some(
        (fact) => 'relation' in fact && fact.relation.provider.endpoint !== fact.relation.requirer.endpoint,
      ),
      'endpoints of two names',
    ),
  ]
}

const describeError = (error: unknown): Violation =>
  error instanceof Ring
    ? { property: 'c: few events', details: [error.message] }
    : { property: 'the harness itself is right', details: [error instanceof Error ? `${error.stack}` : `${error}`] }

/** The properties of each moment of a history, and those that `end` finds. */
export const checkRun = async (run: Run, end: (run: Run) => Promise<Violation[]>): Promise<Report> => {
  const { world, platform } = run
  const violations = await end(run).catch((error: unknown) => [describeError(error)])
  if (world.wrong.length > 0)
    violations.push({ property: 'b: safe at every moment', details: [...new Set(world.wrong)] })
  if (world.refusals.length > 0)
    violations.push({ property: 'd: no event is answered with 500', details: world.refusals })
  const told = platform.said.letters.length
  return { violations, trace: world.trace, told, traits: traitsOf(run), histories: 1, ...world.totals }
}

/** Apart from the seeds of histories. */
const MEDDLING = 2 ** 30

/** The histories of a seed, the same ones each time: a race, and each of the ends that must mend what it left. */
export const runSeed = async (seed: number, options: Options = {}): Promise<Report> => {
  const random = createRandom(seed)
  const plan = {
    ...withMeddling(createRandom(seed + MEDDLING), createPlan(random)),
    ...(options.disturbances !== undefined && { disturbances: options.disturbances }),
  }
  const run = await begin(random, plan, options)
  run.world.log(() =>
    JSON.stringify({ ...plan, abilities: [...plan.abilities], meddling: [...plan.meddling], facts: plan.facts.length }),
  )
  const { calls, steps } = run.world.totals
  const ends: (string | undefined)[] = []
  const raced = await checkRun(run, async () => {
    await race(run)
    ends.push(...(await repeatEvents(run)))
    return isAllHeard(run) && !isServiceForgotten(run.platform.said)
      ? await checkTold(plan, run.platform, run.world)
      : []
  })
  const reports: Report[] = []
  for (const side of ends) {
    const isQuiet = plan.isQuiet && side === ends[0]
    const end = copyRun(run, createRandom(random.below(2 ** 31)), { ...plan, isQuiet })
    reports.push(await checkRun(end, () => finish(end, side)))
  }
  return joined(raced, reports.length > 0 ? reports : [raced], { calls, steps })
}

/** The steps and calls of what the histories have in common count once. */
const joined = (raced: Report, reports: readonly Report[], begun: { calls: number; steps: number }): Report => {
  const own = (count: 'calls' | 'steps') =>
    reports.reduce((sum, report) => sum + report[count] - raced[count], raced[count] - begun[count])
  const worst = reports.find(({ violations }) => violations.length > 0) ?? raced
  return {
    ...worst,
    histories: reports.length,
    traits: reports[0]?.traits ?? raced.traits,
    calls: own('calls'),
    steps: own('steps'),
    published: Math.max(...reports.map(({ published }) => published)),
  }
}
