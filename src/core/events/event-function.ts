import * as z from 'zod'
import { DEEPEST, isTooDeep } from '../../platform/base/depth.ts'
import { Refused } from '../../platform/base/errors.ts'
import { eventPosition, type Position } from '../../platform/base/event-order.ts'
import { Application, Namespace } from '../../platform/base/names.ts'
import { suggestKeys } from '../../platform/base/nearest-name.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { parseSource } from '../../platform/cloudevents/source.ts'
import type { Change, Folded, Look } from '../reconcile/change.ts'
import type { KnownMarks } from '../relations/told/announcements.ts'
import type { State } from '../state/state.ts'
import type { Conceal } from '../workload/secret-store.ts'

/** The function of one event type. `POST /{name}` takes the event, and so does `POST /`, by its type. */
export type EventFunction = {
  readonly name: string
  readonly type: string
  /** The schema of the data as sent. */
  readonly schema: z.ZodType
  /** Reads the event's data. Throws Refused if they are invalid. */
  receive(event: Event, now: Date): Received
}

/** The application of an event, and its change. Without an application, the event is about the whole namespace. */
export type Received = {
  namespace: string
  application?: string | undefined
  change: Change
}

/** The context of an event that a fold may use in addition to its data. */
export type Arrival = {
  position: Position
  now: Date
  namespace: string
  application: string
  known: KnownMarks
  conceal: Conceal
}

type Definition<Shape extends z.ZodRawShape> = {
  name: string
  /** The fields of the data besides `namespace` and `application`. */
  data: Shape
  observation?: boolean
  /** Without an application, the event is about the whole namespace. */
  isForNamespaces?: boolean
  /** If another application sends it, it only asks for a look. */
  isNudge?: boolean
  /** It can only end something. */
  isEnd?: boolean
  look?: (data: z.output<z.ZodObject<Shape, z.core.$strict>>) => Look
  fold(state: State, data: z.output<z.ZodObject<Shape, z.core.$strict>>, arrival: Arrival): Folded
}

/** Creates a function from its schema and its fold. Unknown fields are errors, because a misspelt one would be lost silently. */
export const defineFunction = <Shape extends z.ZodRawShape>({
  name,
  data,
  observation = false,
  isForNamespaces = false,
  isNudge = false,
  isEnd = false,
  look = () => ({}),
  fold,
}: Definition<Shape>): EventFunction => {
  const Data = z.strictObject({ ...data })
  const About = z.object({
    namespace: Namespace,
    application: isForNamespaces ? Application.optional() : Application,
  })
  return {
    name,
    type: `dev.meshstep.${name}.v1`,
    schema: z.strictObject({ ...About.partial().shape, ...data }),
    receive: (event, now) => {
      const { namespace, application, ...fields } = withSubject(event, isForNamespaces)
      const title = documentTitle(namespace, fields.document)
      const subject = parse(About, { namespace, application }, title)
      const parsed = parse(Data, fields, title)
      const arrival = {
        position: eventPosition(event, now),
        now,
        namespace: subject.namespace,
        application: subject.application ?? '',
      }
      const from = isNudge ? parseSource(event.source) : undefined
      const looks = look(parsed)
      if (from) return { ...subject, change: nudge(from, looks) }
      return {
        ...subject,
        change: {
          observation,
          isEnd,
          look: looks,
          event: arrival.position.id,
          fold: (state, known, conceal) => fold(state, parsed, { ...arrival, known, conceal }),
        },
      }
    },
  }
}

/** Creates the change of a nudge: a look at the memory of another application, which holds the data. The event itself does not change the memory. */
const nudge = (from: Subject, { relation }: Look): Change => ({
  observation: true,
  isNudge: true,
  look: { remotes: [from], ...(relation !== undefined && { relation }) },
  fold: (state) => ({ state }),
})

/** Adds `namespace` and `application` from the subject, `{namespace}/{application}`. Throws Refused if they do not agree with the data. */
const withSubject = ({ subject, data }: Event, isForNamespaces: boolean): Record<string, unknown> => {
  const fields = objectIn(data)
  if (subject === undefined) return fields
  const [namespace, application, ...more] = subject.split('/')
  if (more.length > 0 || (application === undefined && !isForNamespaces))
    throw new Refused(400, `subject: expected {namespace}/{application}, got ${shown(subject)}`)
  const both: Record<string, unknown> = { namespace, application, ...fields }
  if (both.namespace === namespace && both.application === application) return both
  const inData = [both.namespace, both.application].map((name) => (typeof name === 'string' ? name : shown(name)))
  throw new Refused(400, `subject: ${shown(subject)} does not agree with the data, ${inData.join('/').slice(0, 130)}`)
}

/** Returns the data as an object. No data count as an empty one, because the subject of some events says everything. */
const objectIn = (data: unknown): Record<string, unknown> => {
  if (data === undefined || data === null) return {}
  if (data instanceof Uint8Array)
    throw new Refused(400, 'data: expected a JSON object, got bytes: is the content type missing?')
  if (isTooDeep(data)) throw new Refused(400, `data: expected at most ${DEEPEST} levels`)
  if (typeof data === 'object' && !Array.isArray(data)) return { ...data }
  // a text or a list may hold a whole config, with its secret values
  const got = typeof data === 'string' ? 'text' : Array.isArray(data) ? 'a list' : String(data)
  throw new Refused(400, `data: expected a JSON object, got ${got}`)
}

/** Prints JSON, shortened for messages. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 130 ? `${text.slice(0, 130)}…` : text
}

/** Parts of a config with values that are secret, or may be. */
const SECRET_PARTS: readonly PropertyKey[] = ['env', 'envConfig', 'secrets', 'config', 'kubernetesResources']

/** Tells if a part of a config may be secret. Error messages do not show such values. */
const mayBeSecret = ([part, ...path]: readonly PropertyKey[], input: unknown): boolean =>
  part === 'config' && (typeof input === 'object' || isWhole(path) || path.some((key) => SECRET_PARTS.includes(key)))

/** Tells if a path is the whole config, or its workload: a text in its place may hold all of it. */
const isWhole = (path: readonly PropertyKey[]): boolean => ['', 'workload', 'workload.podSpec'].includes(path.join('.'))

const MOST_ISSUES = 5

/** The beginning of each problem of a document, because the author of several has to know which one it is. */
const documentTitle = (namespace: unknown, document: unknown): string =>
  typeof document === 'string' ? `ConfigMap ${namespace}/${document.slice(0, 253)}: ` : ''

const parse = <T>(schema: z.ZodType<T>, value: unknown, title: string): T => {
  const result = schema.safeParse(value, { reportInput: true, error: suggestKeys })
  if (result.success) return result.data
  const problems = result.error.issues.slice(0, MOST_ISSUES).map(issueMessage).join('; ')
  throw new Refused(400, `${title}${problems}`, { cause: result.error })
}

/** Describes one issue: `data.relation.id: Invalid input: expected number, received string, got "7"` */
const issueMessage = ({ code, path, message, input }: z.core.$ZodIssue): string => {
  const isClear = code === 'unrecognized_keys' || input === undefined
  const got = isClear || mayBeSecret(path, input) ? '' : `, got ${shown(input)}`
  return `${['data', ...path.map(String)].join('.')}: ${message}${got}`
}
