import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../platform/base/own-value.ts'
import { parseJson } from '../../platform/base/structured-text.ts'
import { type Event, InvalidEvent, readEvent, structuredEvent } from '../../platform/cloudevents/cloud-event.ts'
import type { SendEvent } from '../../platform/cloudevents/sink.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { redacted } from './redact.ts'

/** The annotation with the CloudEvent in JSON format, on the Kubernetes Event about it. */
const ANNOTATION = 'meshstep.dev/cloud-event'

/** The limit for the annotation. All annotations of an object may have 256 KiB. A larger event is only in the log. */
const LONGEST_KEPT = 128 * 1024

/** Formats a dead letter for the log without its secrets. A redacted one cannot be sent again. */
export const loggedLetter = (event: Event): { event: object; isRedacted?: true } => {
  const data = redacted(event.data) as Event['data']
  return {
    event: structuredEvent({ ...event, data }),
    ...(!isDeepStrictEqual(data, event.data) && { isRedacted: true }),
  }
}

/** Returns the annotations from which a dead letter can be sent again. Returns undefined if it is too large, or has secrets. */
export const keptLetter = (event: Event): Record<string, string> | undefined => {
  if (loggedLetter(event).isRedacted) return undefined
  const text = JSON.stringify(structuredEvent(withoutDelivery(event)))
  return Buffer.byteLength(text) > LONGEST_KEPT ? undefined : { [ANNOTATION]: text }
}

/** Removes the extensions that Knative adds about the failed delivery: its retries, its arrival, and the error. */
const withoutDelivery = ({ extensions, ...event }: Event): Event => ({
  ...event,
  extensions: Object.fromEntries(Object.entries(extensions).filter(([name]) => !name.startsWith('knative'))),
})

/** Dead letters that can be sent again, in the order of their arrival. `unreadable` counts those that cannot be read or were not kept. */
export type DeadLetters = { readonly letters: readonly Event[]; readonly unreadable: number }

/** Reads dead letters from their Kubernetes Events. */
export const lettersInEvents = (objects: readonly KubernetesObject[]): DeadLetters => {
  const told = objects.filter(({ reason }) => reason === 'DeadLetter')
  const inOrder = told.toSorted((one, other) => (String(one.eventTime) < String(other.eventTime) ? -1 : 1))
  return lettersIn(inOrder.map(({ metadata }) => ownValue(metadata.annotations, ANNOTATION)))
}

/** Reads dead letters from the log of the dead-letter sink, or from a file with one CloudEvent in JSON format on each line. */
export const lettersInFile = (text: string): DeadLetters => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const values = lines.map((line) => ({ line, value: parseJson(line) as Logged | null | undefined }))
  const letters = values.filter(({ value }) => value?.msg === undefined || value.msg === 'dead letter')
  return lettersIn(
    letters.map(({ line, value }) => {
      if (value?.isRedacted) return undefined
      return value?.event === undefined ? line : JSON.stringify(value.event)
    }),
  )
}

/** A line of the log, as far as it matters here. */
type Logged = { readonly msg?: unknown; readonly event?: unknown; readonly isRedacted?: unknown }

const lettersIn = (texts: readonly (string | undefined)[]): DeadLetters => {
  const read = texts.map((text) => (text === undefined ? undefined : letterIn(text)))
  const letters = read.filter((letter) => letter !== undefined).map(withoutDelivery)
  return { letters, unreadable: read.length - letters.length }
}

const letterIn = (text: string): Event | undefined => {
  try {
    return readEvent({ headers: { 'content-type': 'application/cloudevents+json' }, body: Buffer.from(text) })
  } catch (error) {
    if (error instanceof InvalidEvent) return undefined
    throw error
  }
}

export type Resent = { readonly sent: readonly Event[]; readonly failed: readonly { letter: Event; reason: string }[] }

/** Sends dead letters again, one after another. They are unchanged, including their ids, so that repetitions and older events are recognized. */
export const resend = async (
  letters: readonly Event[],
  publish: (letter: Event) => ReturnType<SendEvent>,
): Promise<Resent> => {
  const sent: Event[] = []
  const failed: { letter: Event; reason: string }[] = []
  for (const letter of letters) {
    const error = await publish(letter).catch((reason: Error) => reason)
    if (error instanceof Error) failed.push({ letter, reason: error.message })
    else sent.push(letter)
  }
  return { sent, failed }
}
