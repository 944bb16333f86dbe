import { createEmbeddedApi, type EmbeddedApi } from '../../src/embedded/api/api.ts'
import { type Actor, applicationsOf, type Call, ownApplications, settle, startActor, type Taken } from './actor.ts'
import type { Fault } from './faults.ts'
import { NAMESPACE, objectsOf, type Variant } from './fixture.ts'
import {
  type Answer,
  type Event,
  eventIn,
  type KubernetesObject,
  SINK,
  type Sink,
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
  /** How many pods were replaced. */
  replaced: number
  /** How often a process was killed, a call of it executed late, an event delivered twice, and a call disturbed. */
  faults: { killed: number; late: number; doubled: number; disturbed: number }
  /** How often a process took an event of an application that it was busy with. */
  together: number
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
  /** The processes that are busy. */
  actors: Actor[]
  /** Those that are not, and take more. */
  idle: Actor[]
  /** The serial number of the last moment at which nothing was under way; 0 once a nudge was lost. */
  quietSince(): number
  /** A number that only grows, for starts and answers. */
  serial(): number
  now(): number
  advance(milliseconds: number): void
  log(text: () => string): void
  newId(): string
  /** Has a process take a letter of the network: one that runs, or a new one with a clock of its own. */
  deliver(letter: Letter, skew: number, to?: Actor): Promise<Actor>
  /** Makes a call of an actor, its next one where none is named. */
  step(actor: Actor, index?: number): Promise<void>
  /** Makes the next call of an actor, or does not, with a fault on the way. */
  disturb(actor: Actor, name: string, fault: Fault): Promise<void>
  /** Kills an actor; its letters are delivered again. The calls that it waits for may be made later. Answers with the first letter. */
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
  replaced: 0,
  faults: { killed: 0, late: 0, doubled: 0, disturbed: 0 },
  together: 0,
  ...{ network: [], late: [], lost: [], refusals: [], wrong: [], trace: [] },
})

type Options = {
  isTraced?: boolean
  /** Whether pods outlive a change of their template. */
  isRolling?: boolean
  /** Whether processes take events until they are killed. @default one for each event */
  isLasting?: boolean
  sink?: Sink
  /** Another world, in which nobody is under way, and what goes on of it. */
  before?: { api: EmbeddedApi; course: Course }
}

/** A cluster, a network and the processes in it; nothing happens but by its methods. */
export const createWorld = (
  variant: Variant,
  { isTraced = false, isRolling = false, isLasting = false, sink = 'prompt', before }: Options = {},
): World => {
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
  const letters = new Map<Taken, Letter>()

  const handle = (request: TransportRequest): TransportAnswer => {
    course.now += CALL_MILLISECONDS
    course.totals.calls += 1
    if (request.path !== SINK) return api.handle(request)
    publish(eventIn(request))
    return { status: 202, headers: {}, body: '' }
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

  const loseSent = (request: TransportRequest) => {
    if (request.path !== SINK) return
    const event = eventIn(request)
    course.lost.push(applicationOf(event), event.source.split('/').at(-1) ?? '')
  }

  const finish = (actor: Actor, taken: Taken, { status, text }: Answer) => {
    actor.taken.splice(actor.taken.indexOf(taken), 1)
    world.log(() => `${actor.name}: answers ${status} ${text.slice(0, 200)}`)
    const letter = letters.get(taken)
    letters.delete(taken)
    if (letter === undefined) return
    if (isWrong(status, letter)) world.refusals.push(`${actor.name}, ${letter.name}: ${status} ${text}`)
    if (status === 503 && letter.attempts < MOST_ATTEMPTS) world.network.push(letter)
    else {
      if (!letter.isAnswered) world.onAnswer(letter)
      letter.isAnswered = true
    }
  }

  /** What a process still does once all is answered, as noting what was sent, is of the events that it took last. */
  const rest = (actor: Actor) => {
    if (actor.taken.length > 0) actor.started = Math.min(...actor.taken.map(({ started }) => started))
    if (actor.taken.length + actor.pending.length > 0) return
    world.actors.splice(world.actors.indexOf(actor), 1)
    if (actor.isLasting) world.idle.push(actor)
  }

  const finishAll = () => {
    for (const actor of [...world.actors]) {
      for (const taken of [...actor.taken]) if (taken.answer) finish(actor, taken, taken.answer)
      rest(actor)
    }
    if (world.actors.length === 0 && world.network.length === 0) course.quiet = nextSerial()
  }

  const start = (serial: number, skew: number): Actor => {
    const clock = {
      now: () => course.now + skew,
      sleep: async (milliseconds: number) => world.advance(milliseconds),
      // two processes never draw the same number
      random: createRandom(serial).number,
      yieldTurn: async () => undefined,
    }
    course.names += 1
    const told = (event: Event) => {
      world.totals.published += 1
      world.log(() => `  told itself: ${describeEvent(event)}`)
    }
    return startActor({ name: `p${course.names}`, isLasting, sink, clock, handle, publish, told, newId })
  }

  const world: World = {
    ...{ api, course, actors: [], idle: [] },
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
    deliver: async (letter, skew, to) => {
      const index = world.network.indexOf(letter)
      if (index >= 0) world.network.splice(index, 1)
      letter.attempts += 1
      world.totals.steps += 1
      const started = nextSerial()
      const actor = to ?? start(started, skew)
      const { event, application } = letter
      world.log(() => `${actor.name}: takes ${letter.name}${letter.attempts > 1 ? ', again' : ''}`)
      if (actor.taken.some((one) => one.application === application)) course.together += 1
      if (!world.actors.includes(actor)) world.actors.push(actor)
      if (to) world.idle.splice(0, world.idle.length, ...world.idle.filter((one) => one !== actor))
      letters.set(actor.take(event, application, started), letter)
      await settle()
      finishAll()
      return actor
    },
    step: async (actor, index = 0) => {
      const [call] = actor.pending.splice(index, 1)
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
      if (executed === 'late') world.late.push(callOf(actor, request))
      const real = executed === 'before' ? handle(request) : undefined
      const answered = answer ? answer(real) : new Error(name)
      // whoever answers in place of the sink that it took the event, loses it
      if (executed === 'never' && !(answered instanceof Error) && answered.status === 200) loseSent(request)
      call.answer(answered)
      await settle()
      finishAll()
    },
    crash: (actor, isLate) => {
      if (!world.actors.includes(actor)) throw new Error(`${actor.name} has ended already`)
      world.actors.splice(world.actors.indexOf(actor), 1)
      const late = isLate ? actor.pending : []
      course.faults.killed += 1
      world.log(() => `${actor.name}: dies${late.map(({ request }) => ` during ${request.method}`).join(',')}`)
      world.late.push(...late.map(({ request }) => callOf(actor, request)))
      // what it was about to tell itself nobody tells any more
      course.lost.push(...ownApplications(actor))
      const back = actor.taken.flatMap((taken) => letters.get(taken) ?? [])
      for (const taken of actor.taken) letters.delete(taken)
      world.network.push(...back)
      return back[0]
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
      course.replaced += 1
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

const callOf = (actor: Actor, request: TransportRequest): Call => ({
  actor: actor.name,
  applications: applicationsOf(actor),
  started: actor.started,
  request,
})

const describeEvent = ({ type, source, subject }: Event): string => `${type.split('.')[2]} of ${source} to ${subject}`

const applicationOf = ({ subject = '' }: Event): string => subject.split('/')[1] ?? ''

const shortPath = (path: string): string => decodeURIComponent(path.replace(/^\/apis?\//, '').replace(/\?.*/, ''))

export const objectNamed = (
  api: EmbeddedApi,
  kind: string,
  name: string,
  namespace: string = NAMESPACE,
): KubernetesObject | undefined =>
  api.objects().find((one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === namespace)
