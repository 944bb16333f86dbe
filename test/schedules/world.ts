import { createEmbeddedApi, type EmbeddedApi } from '../../src/embedded/api.ts'
import { type Actor, type Call, settle, startActor } from './actor.ts'
import type { Fault } from './faults.ts'
import { NAMESPACE, objectsOf, type Variant } from './fixture.ts'
import {
  type Answer,
  createMemories,
  type Event,
  type KubernetesObject,
  type TransportAnswer,
  type TransportRequest,
} from './process.ts'
import { createRandom } from './random.ts'

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

/** What of a world goes on in a copy of it: plain data, beside the objects in the cluster. */
export type Course = {
  now: number
  /** How many ids, serial numbers and names were given. */
  ids: number
  serials: number
  names: number
  /** The serial number of the last moment at which nothing was under way. */
  quiet: number
  /** The applications that lost nudges were for, and from. */
  lost: string[]
  totals: { calls: number; steps: number; published: number }
  /** How often a process was killed, a call of it executed late, an event delivered twice, and a call disturbed. */
  faults: { killed: number; late: number; doubled: number; disturbed: number }
  /** Events that nobody takes at present. */
  network: Letter[]
  /** Calls of crashed actors. */
  late: Call[]
  /** Answers that no event should get. */
  refusals: string[]
  /** What must not be at any moment, and was. */
  wrong: string[]
  trace: string[]
}

export type World = Readonly<Pick<Course, 'network' | 'late' | 'totals' | 'refusals' | 'wrong' | 'trace'>> & {
  api: EmbeddedApi
  course: Course
  actors: Actor[]
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
  /** Makes the next call of an actor, or does not, with a fault on the way. */
  disturb(actor: Actor, name: string, fault: Fault): Promise<void>
  /** Kills an actor; its letter is delivered again. Its next call may be made later. */
  crash(actor: Actor, isLate: boolean): Letter | undefined
  makeLate(call: Call): void
  /** The pods whose template is another one by now. */
  outdated(): KubernetesObject[]
  /** Replaces a pod; a source tells that it is gone. */
  replace(pod: KubernetesObject): void
  lose(letter: Letter): void
  /** Hears of the first answer to a letter. */
  onAnswer: (letter: Letter) => void
}

export const START = Date.parse('2026-01-01T00:00:00Z')
const CALL_MILLISECONDS = 5
const MOST_ATTEMPTS = 6

const TYPES = /^dev\.meshstep\.(relation-changed|relation-broken|resync|config-changed|application-removed)\.v1$/

const newCourse = (): Course => ({
  ...{ now: START, ids: 0, serials: 0, names: 0, quiet: 0 },
  totals: { calls: 0, steps: 0, published: 0 },
  faults: { killed: 0, late: 0, doubled: 0, disturbed: 0 },
  ...{ network: [], late: [], lost: [], refusals: [], wrong: [], trace: [] },
})

type Options = {
  isTraced?: boolean
  /** Whether pods outlive a change of their template. */
  isRolling?: boolean
  /** Another world, in which nobody is under way, and what goes on of it. */
  before?: { api: EmbeddedApi; course: Course }
}

/** A cluster, a network and the processes in it; nothing happens but by its methods. */
export const createWorld = (variant: Variant, { isTraced = false, isRolling = false, before }: Options = {}): World => {
  const course = before?.course ?? newCourse()
  const now = () => course.now
  const newId = () => {
    course.ids += 1
    return `id-${course.ids}`
  }
  const nextSerial = () => {
    course.serials += 1
    return course.serials
  }
  const clock = { now: () => new Date(course.now), uid: newId }
  const api = before?.api.copy(clock) ?? createEmbeddedApi(clock)
  if (before === undefined) api.seed(objectsOf(variant, isRolling), { manager: 'juju' })
  const letters = new Map<Actor, Letter>()

  const memories = createMemories()
  const handle = (request: TransportRequest): TransportAnswer => {
    course.now += CALL_MILLISECONDS
    course.totals.calls += 1
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
    if (world.actors.length === 0 && world.network.length === 0) course.quiet = nextSerial()
  }

  const world: World = {
    ...{ api, course, actors: [] },
    network: course.network,
    late: course.late,
    totals: course.totals,
    refusals: course.refusals,
    wrong: course.wrong,
    trace: course.trace,
    quietSince: () => (course.lost.length > 0 ? 0 : course.quiet),
    serial: nextSerial,
    now,
    advance: (milliseconds) => {
      course.now += milliseconds
    },
    log: (text) => {
      if (isTraced) course.trace.push(text())
    },
    newId,
    deliver: async (letter, skew) => {
      const index = world.network.indexOf(letter)
      if (index >= 0) world.network.splice(index, 1)
      letter.attempts += 1
      world.totals.steps += 1
      const started = nextSerial()
      const clock = {
        now: () => course.now + skew,
        sleep: async (milliseconds: number) => world.advance(milliseconds),
        // two processes never draw the same number
        random: createRandom(started).number,
        breathe: async () => undefined,
      }
      const { event, application } = letter
      course.names += 1
      const name = `p${course.names} (${application})`
      world.log(() => `${name}: takes ${letter.name}${letter.attempts > 1 ? ', again' : ''}`)
      const actor = startActor({ event, name, application, started, clock, handle, publish, newId, memories })
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
    disturb: async (actor, name, { executed, answer }) => {
      const call = actor.pending.shift()
      if (call === undefined) throw new Error(`${actor.name} makes no call`)
      const { request } = call
      world.log(() => `${actor.name}: ${request.method} ${shortPath(request.path)}: ${name}`)
      course.faults.disturbed += 1
      const { application, started } = actor
      if (executed === 'late') world.late.push({ actor: actor.name, application, started, request })
      const real = executed === 'before' ? handle(request) : undefined
      call.answer(answer ? answer(real) : new Error(name))
      await settle()
      finishAll()
    },
    crash: (actor, isLate) => {
      if (!world.actors.includes(actor)) throw new Error(`${actor.name} has ended already`)
      world.actors.splice(world.actors.indexOf(actor), 1)
      const [call] = actor.pending
      course.faults.killed += 1
      world.log(() => `${actor.name}: dies${isLate && call ? ` during ${call.request.method}` : ''}`)
      const { name, application, started } = actor
      if (isLate && call) world.late.push({ actor: name, application, started, request: call.request })
      const letter = letters.get(actor)
      letters.delete(actor)
      if (letter) world.network.push(letter)
      return letter
    },
    makeLate: (call) => {
      world.log(() => `late, of ${call.actor}: ${call.request.method} ${shortPath(call.request.path)}`)
      course.faults.late += 1
      handle(call.request)
      world.late.splice(world.late.indexOf(call), 1)
    },
    outdated: () => {
      const objects = api.objects()
      const current = objects.map(({ status }) => (status as { updateRevision?: string } | undefined)?.updateRevision)
      return objects.filter(
        ({ kind, metadata: { labels = {} } }) =>
          kind === 'Pod' && REVISION in labels && !current.includes(labels[REVISION]),
      )
    },
    replace: (pod) => {
      const { name, labels = {} } = pod.metadata
      world.log(() => `-- pod ${name} is replaced`)
      api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/pods/${name}`, headers: {} })
      const application = labels['app.kubernetes.io/name'] ?? ''
      const letter = { event: podEvent(world, pod), name: `end of pod ${name}`, application }
      world.network.push({ ...letter, isPlatform: true, attempts: 0, isAnswered: false, after: [] })
    },
    lose: (letter) => {
      course.lost.push(letter.application, letter.event.source.split('/').at(-1) ?? '')
      world.network.splice(world.network.indexOf(letter), 1)
      world.log(() => `lost: ${letter.name}`)
    },
    onAnswer: () => undefined,
  }
  return world
}

const REVISION = 'controller-revision-hash'

/** The end of a pod as Knative's ApiServerSource sends it in mode Resource. */
const podEvent = (world: World, { metadata, ...pod }: KubernetesObject): Event => ({
  id: world.newId(),
  source: 'https://10.96.0.1:443',
  type: 'dev.knative.apiserver.resource.delete',
  subject: `/apis/v1/namespaces/${NAMESPACE}/pods/${metadata.name}`,
  time: new Date(world.now()).toISOString(),
  datacontenttype: 'application/json',
  extensions: { apiversion: 'v1', kind: 'Pod', name: metadata.name, namespace: NAMESPACE },
  data: { ...pod, metadata },
})

/** A defect, or a refusal of what the platform may well say. */
const isWrong = (status: number, { isPlatform }: Letter): boolean =>
  status === 500 || (status < 500 && status >= 400 && isPlatform)

const applicationOf = ({ subject = '' }: Event): string => subject.split('/')[1] ?? ''

const shortPath = (path: string): string => decodeURIComponent(path.replace(/^\/apis?\//, '').replace(/\?.*/, ''))

export const objectNamed = (api: EmbeddedApi, kind: string, name: string): KubernetesObject | undefined =>
  api.objects().find((one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === NAMESPACE)
