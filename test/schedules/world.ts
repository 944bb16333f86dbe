import { createEmbeddedApi, type EmbeddedApi } from '../../src/embedded/api.ts'
import { type Actor, type Call, settle, startActor } from './actor.ts'
import { NAMESPACE, objectsOf, type Variant } from './fixture.ts'
import type { Answer, Event, KubernetesObject, TransportAnswer, TransportRequest } from './process.ts'

/** An event in the network. */
export type Letter = {
  event: Event
  /** For people. */
  name: string
  application: string
  /** An event of the platform, or of the source of documents; all else comes from a process. */
  isPlatform: boolean
  /** The thing that the platform speaks of. */
  about?: string
  attempts: number
  isAnswered: boolean
  /** Letters without an order that must be answered first, as they were sent first. */
  after: readonly Letter[]
}

type Totals = { calls: number; steps: number; published: number }

/** What was written while some events were taken, and where the counters stood: enough to have it again without taking them. */
export type Echo = { writes: (Count & { request: TransportRequest })[]; end: Count; published: number }

type Count = { time: number; ids: number }

export type World = {
  api: EmbeddedApi
  actors: Actor[]
  /** Events that nobody takes at present. */
  network: Letter[]
  /** Calls of crashed actors. */
  late: Call[]
  totals: Totals
  /** Answers that no event should get. */
  refusals: string[]
  trace: string[]
  /** Whether a nudge was lost. */
  isLossy: boolean
  /** The serial number of the last moment at which nothing was under way; 0 once a nudge was lost. */
  quietSince(): number
  /** A number that only grows, for starts and answers. */
  serial(): number
  now(): number
  advance(milliseconds: number): void
  log(text: () => string): void
  newId(): string
  /** Starts a process for a letter of the network, with a clock of its own. */
  deliver(letter: Letter, skew: number): Promise<Actor>
  /** Makes the next call of an actor. */
  step(actor: Actor): Promise<void>
  /** Kills an actor; its letter is delivered again. Its next call may be made later. */
  crash(actor: Actor, isLate: boolean): Letter | undefined
  makeLate(call: Call): void
  lose(letter: Letter): void
  /** Remembers what is written from now on until the answer is called. */
  record(): () => Echo
  /** Writes what was recorded after the same history, and has what is in the network answered. */
  repeat(echo: Echo): void
  /** Hears of the first answer to a letter. */
  onAnswer: (letter: Letter) => void
}

export const START = Date.parse('2026-01-01T00:00:00Z')
const CALL_MILLISECONDS = 5
const MOST_ATTEMPTS = 6

const TYPES = /^dev\.meshstep\.(relation-changed|relation-broken|resync|config-changed|application-removed)\.v1$/

/** A cluster, a network and the processes in it; nothing happens but by its methods. */
export const createWorld = (variant: Variant, { isTraced = false }: { isTraced?: boolean } = {}): World => {
  let time = START
  let [ids, serials, names, quiet] = [0, 0, 0, 0]
  const now = () => time
  const newId = () => `id-${++ids}`
  const api = createEmbeddedApi({ now: () => new Date(time), uid: newId })
  api.seed(objectsOf(variant), { manager: 'juju' })
  const letters = new Map<Actor, Letter>()

  let recorded: Echo['writes'] | undefined

  const handle = (request: TransportRequest): TransportAnswer => {
    time += CALL_MILLISECONDS
    world.totals.calls += 1
    if (request.method !== 'GET') recorded?.push({ time, ids, request })
    return api.handle(request)
  }

  /** A third party's event is counted, and not delivered. */
  const publish = (event: Event) => {
    world.totals.published += 1
    const application = applicationOf(event)
    if (!TYPES.test(event.type)) return
    const name = `${event.type.split('.')[2]} of ${event.source} to ${application}`
    world.log(() => `  sent: ${name}`)
    world.network.push({ event, name, application, isPlatform: false, attempts: 0, isAnswered: false, after: [] })
  }

  const finish = (actor: Actor, { status, text }: Answer) => {
    world.actors.splice(world.actors.indexOf(actor), 1)
    world.log(() => `${actor.name}: answers ${status} ${text.slice(0, 200)}`)
    const letter = letters.get(actor)
    letters.delete(actor)
    if (letter === undefined) return
    if (isWrong(status, letter)) world.refusals.push(`${actor.name}, ${letter.name}: ${status} ${text}`)
    if (status === 503 && letter.attempts < MOST_ATTEMPTS) world.network.push(letter)
    else {
      if (!letter.isAnswered) world.onAnswer(letter)
      letter.isAnswered = true
    }
  }

  const finishAll = () => {
    for (const actor of [...world.actors]) if (actor.answer) finish(actor, actor.answer)
    if (world.actors.length === 0 && world.network.length === 0) quiet = ++serials
  }

  const world: World = {
    api,
    actors: [],
    network: [],
    late: [],
    totals: { calls: 0, steps: 0, published: 0 },
    refusals: [],
    trace: [],
    isLossy: false,
    quietSince: () => (world.isLossy ? 0 : quiet),
    serial: () => ++serials,
    now,
    advance: (milliseconds) => {
      time += milliseconds
    },
    log: (text) => {
      if (isTraced) world.trace.push(text())
    },
    newId,
    deliver: async (letter, skew) => {
      const index = world.network.indexOf(letter)
      if (index >= 0) world.network.splice(index, 1)
      letter.attempts += 1
      world.totals.steps += 1
      const clock = {
        now: () => time + skew,
        sleep: async (milliseconds: number) => world.advance(milliseconds),
        random: () => 0.5,
      }
      const { event, application } = letter
      const name = `p${++names} (${application})`
      world.log(() => `${name}: takes ${letter.name}${letter.attempts > 1 ? ', again' : ''}`)
      const actor = startActor({ event, name, application, started: ++serials, clock, handle, publish, newId })
      letters.set(actor, letter)
      world.actors.push(actor)
      await settle()
      finishAll()
      return actor
    },
    step: async (actor) => {
      const call = actor.pending.shift()
      if (call === undefined) throw new Error(`${actor.name} makes no call`)
      world.log(() => `${actor.name}: ${call.request.method} ${shortPath(call.request.path)}`)
      call.make()
      await settle()
      finishAll()
    },
    crash: (actor, isLate) => {
      if (!world.actors.includes(actor)) throw new Error(`${actor.name} has ended already`)
      world.actors.splice(world.actors.indexOf(actor), 1)
      const [call] = actor.pending
      world.log(() => `${actor.name}: dies${isLate && call ? ` during ${call.request.method}` : ''}`)
      if (isLate && call) world.late.push(call)
      const letter = letters.get(actor)
      letters.delete(actor)
      if (letter) world.network.push(letter)
      return letter
    },
    makeLate: (call) => {
      world.late.splice(world.late.indexOf(call), 1)
      world.log(() => `late, of ${call.actor}: ${call.request.method} ${shortPath(call.request.path)}`)
      call.makeUnheard()
    },
    lose: (letter) => {
      world.isLossy = true
      world.network.splice(world.network.indexOf(letter), 1)
      world.log(() => `lost: ${letter.name}`)
    },
    record: () => {
      const { published } = world.totals
      const writes: Echo['writes'] = []
      recorded = writes
      return () => {
        recorded = undefined
        return { writes, end: { time, ids }, published: world.totals.published - published }
      }
    },
    repeat: ({ writes, end, published }) => {
      for (const { request, ...at } of writes) {
        ;[time, ids] = [at.time, at.ids]
        api.handle(request)
      }
      ;[time, ids] = [end.time, end.ids]
      world.totals.published += published
      for (const letter of world.network.splice(0)) {
        world.onAnswer(letter)
        letter.isAnswered = true
      }
      quiet = ++serials
    },
    onAnswer: () => undefined,
  }
  return world
}

/** A defect, or a refusal of what the platform may well say. */
const isWrong = (status: number, { isPlatform }: Letter): boolean =>
  status === 500 || (status < 500 && status >= 400 && isPlatform)

const applicationOf = ({ subject = '' }: Event): string => subject.split('/')[1] ?? ''

const shortPath = (path: string): string => decodeURIComponent(path.replace(/^\/apis?\//, '').replace(/\?.*/, ''))

export const objectNamed = (api: EmbeddedApi, kind: string, name: string): KubernetesObject | undefined =>
  api.objects().find((one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === NAMESPACE)
