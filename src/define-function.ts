import * as z from 'zod'
import { Application, Namespace } from './config.ts'
import { Refused } from './errors.ts'
import type { Event } from './events/cloud-event.ts'
import { type Position, positionOf } from './order.ts'
import type { Change, Folded } from './remember.ts'
import type { State } from './state.ts'

/** One event type: `POST /{name}` takes it, and `POST /` by its type. */
export type EventFunction = {
  readonly name: string
  readonly type: string
  /** Reads the event's data. Throws Refused for data that is not valid. */
  receive(event: Event, now: Date): Received
}

/** Whom the event is about, and what it means; without an application, all of the namespace. */
export type Received = { namespace: string; application?: string | undefined; change: Change }

/** What a fold may know of its event besides the data. */
export type Arrival = { position: Position; now: Date }

type Definition<Shape extends z.ZodRawShape> = {
  name: string
  /** The fields of the data beyond `namespace` and `application`. */
  data: Shape
  observation?: boolean
  fold(state: State, data: z.output<z.ZodObject<Shape, z.core.$strict>>, arrival: Arrival): Folded
}

/** A function out of its schema and its fold. Unknown fields are errors: a misspelt one would be lost in silence. */
export const defineFunction = <Shape extends z.ZodRawShape>({
  name,
  data,
  observation = false,
  fold,
}: Definition<Shape>): EventFunction => {
  const Data = z.strictObject({ ...data })
  const Subject = z.object({ namespace: Namespace, application: Application })
  return {
    name,
    type: `dev.meshstep.${name}.v1`,
    receive: (event, now) => {
      const { namespace, application, ...fields } = withSubject(event)
      const subject = parse(name === 'resync' ? Subject.partial({ application: true }) : Subject, {
        namespace,
        application,
      })
      const parsed = parse(Data, fields)
      const arrival = { position: positionOf(event), now }
      return { ...subject, change: { observation, fold: (state) => fold(state, parsed, arrival) } }
    },
  }
}

/** The data with `namespace` and `application` filled in from the subject, `{namespace}/{application}`; both must agree. */
const withSubject = ({ subject, data }: Event): Record<string, unknown> => {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw new Refused(
      400,
      `data: expected a JSON object, got ${data === undefined ? 'nothing' : JSON.stringify(data).slice(0, 80)}`,
    )
  if (subject === undefined) return { ...data }
  const [namespace, application, ...more] = subject.split('/')
  if (more.length > 0)
    throw new Refused(400, `subject: expected {namespace}/{application}, got ${JSON.stringify(subject.slice(0, 130))}`)
  const fields: Record<string, unknown> = { namespace, application, ...data }
  if (fields.namespace !== namespace || fields.application !== application)
    throw new Refused(
      400,
      `subject: ${JSON.stringify(subject.slice(0, 130))} does not agree with the data, ${fields.namespace}/${fields.application}`,
    )
  return fields
}

const parse = <T>(schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  throw new Refused(400, result.error.issues.map(issueMessage).join('; '), { cause: result.error })
}

/** `data.relation.id: Invalid input: expected number, received string, got "7"` */
const issueMessage = ({ path, message, input }: z.core.$ZodIssue): string => {
  const got = input === undefined ? '' : `, got ${JSON.stringify(input)?.slice(0, 80)}`
  return `${['data', ...path.map(String)].join('.')}: ${message}${got}`
}
