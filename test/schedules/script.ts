import type { Actor } from './actor.ts'
import type { Fact, Order } from './facts.ts'
import { clientRelation, clusterRelation, meshRelation, type Relation, type Variant } from './fixture.ts'
import { checkRun, createRun, finish, type Report, type Run, repeatEvents, sidesOfRun } from './history.ts'
import { principalsIn } from './monitor.ts'
import { type Plan, STILL } from './plan.ts'
import type { KubernetesObject } from './process.ts'
import { checkConvergence, checkEvents, checkQuiet, sendResync, type Violation } from './properties.ts'
import { createRandom } from './random.ts'
import type { Letter } from './world.ts'

/** What a history that is written by hand is made of. */
export type Script = {
  run: Run
  /** Says facts one after another; what each of them causes is delivered before the next one. */
  say(...facts: Fact[]): Promise<void>
  /** Says a fact and lets its own events be taken; what these cause stays in the network. */
  sayOnly(fact: Fact): Promise<void>
  /** Says a fact; its events stay in the network. */
  send(fact: Fact, time?: number): Letter[]
  /** Says a fact; its events come once they are put into the network. */
  hold(fact: Fact, time?: number): Letter[]
  /** Delivers everything until nothing is left. */
  quiet(): Promise<void>
  /** Loses what is in the network, or what is there for one application. */
  lose(application?: string): void
  start(letter: Letter): Promise<Actor>
  /** Makes an actor's calls until its next one matches, or until its end; says whether it matched. */
  runTo(actor: Actor, call: RegExp): Promise<boolean>
  runOut(actor: Actor): Promise<void>
  /** Delivers everything, and leaves the first actor that is about to make a call that matches; undefined when none ever is. */
  quietTo(call: RegExp): Promise<Actor | undefined>
  /** What is wrong with this history; `expect` adds to it. */
  problems: string[]
  expect(isRight: boolean, problem: string): void
  resync(application?: string): Promise<void>
}

/** How a history ends before it is checked: by the events' redelivery and a resync, or by a resync of one side alone. */
export type End = { redelivered: true } | { resync: string | undefined } | 'nothing'

export type Named = {
  name: string
  variant?: Variant
  order?: Order
  /** The versions of memories are kept, so that they can be restored. */
  meddling?: Plan['meddling']
  act(script: Script): Promise<void>
  end?: End
  /** What else must be at the end. */
  check?(script: Script): void
  /** Whether `check` alone knows what is right, as it does not follow from who was told of which relation. */
  isOdd?: true
}

const createScript = (run: Run): Script => {
  const { world, platform, schedule } = run
  const runTo: Script['runTo'] = async (actor, call) => {
    while (world.actors.includes(actor)) {
      const [next] = actor.pending
      if (next && call.test(`${next.request.method} ${decodeURIComponent(next.request.path)}`)) return true
      await world.step(actor)
    }
    return false
  }
  const quietTo: Script['quietTo'] = async (call) => {
    for (let [letter] = world.network; letter !== undefined; [letter] = world.network) {
      const actor = await world.deliver(letter, 0)
      if (await runTo(actor, call)) return actor
    }
    return undefined
  }
  const problems: string[] = []
  const runOut = async (actor: Actor) => void (await runTo(actor, /^never$/))
  return {
    run,
    send: (fact, time) => platform.say(fact, time),
    hold: (fact, time) => {
      const held = [...platform.say(fact, time)]
      for (const letter of held) world.network.splice(world.network.indexOf(letter), 1)
      return held
    },
    say: async (...facts) => {
      for (const fact of facts) {
        platform.say(fact)
        await schedule.runCalmly()
      }
    },
    sayOnly: async (fact) => {
      for (const letter of platform.say(fact)) await runOut(await world.deliver(letter, 0))
    },
    quiet: () => schedule.runCalmly(),
    lose: (application) => {
      for (const letter of [...world.network])
        if (application === undefined || letter.application === application) world.lose(letter)
    },
    start: (letter) => world.deliver(letter, 0),
    runTo,
    runOut,
    quietTo,
    problems,
    expect: (isRight, problem) => {
      if (isRight) return
      world.log(() => `  !! ${problem}`)
      problems.push(problem)
    },
    resync: async (application) => {
      sendResync(world, application)
      await schedule.runCalmly()
    },
  }
}

const endBy = async (end: End, script: Script, named: Named): Promise<Violation[]> => {
  const { run, resync, quiet } = script
  const { plan, platform, world, schedule } = run
  await quiet()
  const found: Violation[] = []
  if (end !== 'nothing' && 'redelivered' in end)
    found.push(...(await finish(run, run.random.pick(await repeatEvents(run)))))
  else {
    if (end !== 'nothing') await resync(end.resync)
    found.push(
      ...(await checkConvergence(plan, platform, world)),
      ...checkEvents(world, platform, plan.atOnce),
      ...(await checkQuiet(sidesOfRun(run), schedule, world)),
    )
  }
  named.check?.(script)
  const { problems } = script
  const own = problems.length === 0 ? [] : [{ property: 'of this history', details: problems }]
  return [...found, ...own]
}

/** Runs a history that is written by hand, and checks it as any other. */
export const runNamed = async (named: Named): Promise<Report> => {
  const { variant = 'mesh', order = 'time', meddling = STILL.meddling, act, end = { redelivered: true }, isOdd } = named
  const run = createRun(createRandom(1), { ...STILL, variant, order, meddling }, { isTraced: true })
  const script = createScript(run)
  const report = await checkRun(run, async () => {
    await act(script)
    return await endBy(end, script, named)
  })
  return { ...report, violations: report.violations.filter(({ property }) => !isOdd || !/^[ab]:/.test(property)) }
}

const relationFacts = (relation: Relation) => ({
  told: (side: string, form: 'event' | 'document' = 'event'): Fact => ({ kind: 'told', relation, side, form }),
  ended: (side: string, form: 'event' | 'document' = 'event'): Fact => ({ kind: 'ended', relation, side, form }),
})

/** A consumer's relation with a beacon; a client's with details; that of the cluster. */
export const mesh = (id = 1, consumer = 'details', beacon = 'beacon') =>
  relationFacts(meshRelation(id, consumer, beacon))
export const client = (id = 3, name = 'productpage') => relationFacts(clientRelation(id, name))
export const cluster = (id = 5) => relationFacts(clusterRelation(id))
export const config = (side: string, form: 'event' | 'document' = 'event'): Fact => ({ kind: 'config', side, form })
export const configOf = (side: string, of: Record<string, unknown>): Fact => ({
  kind: 'config',
  side,
  form: 'event',
  config: of,
})
export const removed = (side: string, form: 'event' | 'document' = 'event'): Fact => ({ kind: 'removed', side, form })
export const forgotten = (side: string): Fact => ({ kind: 'forgotten', side })

/** Configs of the beacon and of details, and a client that details may be used by. */
export const CONFIGURED = [config('beacon'), config('details'), client().told('details')]

/** Finds an object in the cluster as it is now. */
export const find = ({ run: { world } }: Script, kind: string, name: string): KubernetesObject | undefined =>
  world.api.objects().find((object) => object.kind === kind && object.metadata.name === name)

/** Tells if a policy in the cluster names the account of an application. */
export const isAdmitted = ({ run: { world } }: Script, name: string): boolean =>
  world.api.objects().some((object) => object.kind === 'AuthorizationPolicy' && principalsIn(object).includes(name))

export const POLICY_WRITE = /^(POST|PATCH|PUT|DELETE) .*\/authorizationpolicies/
export const LABEL_WRITE = /^PATCH .*\/statefulsets\/details/
export const MEMORY_WRITE = /^(POST|PUT) .*\/configmaps/
