import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { defined, ownValue } from '../base/own-value.ts'
import type { SpecSource } from '../state/config.ts'
import { type Churn, DEFAULT_CHURN, Recent, tooOften, withChange } from './churn/config.ts'

/**
 * The recent changes of each place in the application data, and the values held back: text, or null for a removal. A place is
 * `["settings", key]` or `["databag", endpoint, key]`, as JSON.
 */
export const DataChurn = z.strictObject({
  recent: Recent,
  held: z.record(z.string(), z.string().nullable()).optional(),
})
export type DataChurn = z.infer<typeof DataChurn>

type Texts = Readonly<Record<string, string>>

/** Application data of a memory, and their limit of changes. */
type Memory = {
  readonly config?: { readonly churn?: Churn | undefined } | undefined
  readonly settings?: Texts | undefined
  readonly databag?: Readonly<Record<string, Texts>> | undefined
  readonly dataChurn?: DataChurn | undefined
}

const ABOUT = ['settings', 'databag'] as const

/**
 * Applies a unit's settings and databag, except for places that units have changed as often as `churn` allows. These keep their values,
 * and the last held-back value is applied as soon as the limit allows. A person's changes are applied at once.
 */
export const withDataChurn = <M extends Memory>(before: M, after: M, by: SpecSource, now: number): M => {
  const [was, told] = [textsByPlace(before), textsByPlace(after)]
  const { recent = {}, held = {} } = after.dataChurn ?? {}
  const isToldAt = (path: string) =>
    ABOUT.some((about) => before[about] !== after[about] && path.startsWith(`["${about}"`))
  // data are sent as a whole; held-back values of other parts stay candidates
  const waiting = Object.fromEntries(Object.entries(held).filter(([path]) => !isToldAt(path)))
  const asked: Places = { ...told, ...waiting }
  const churn = after.config?.churn ?? DEFAULT_CHURN
  const paths = changed(was, asked).filter((path) => by === 'unit' || !isToldAt(path))
  const often = new Set(tooOften(recent, paths, churn, now))
  const accepted = paths.filter((path) => !often.has(path))
  const next = withChurn(after, {
    recent: accepted.length === 0 ? recent : withChange(recent, accepted, churn, now),
    held: Object.fromEntries([...often].map((path) => [path, ownValue(asked, path) ?? null])),
  })
  const all = [...new Set([...Object.keys(was), ...Object.keys(asked)])]
  const texts = Object.fromEntries(
    all.flatMap((path) => {
      const text = ownValue<string | null>(often.has(path) ? was : asked, path)
      return typeof text === 'string' ? [[path, text]] : []
    }),
  )
  return isDeepStrictEqual(texts, told) ? next : withTexts(next, texts)
}

/** The held-back places, in messages. */
export const heldPlaces = ({ dataChurn }: Memory): string[] =>
  Object.keys(dataChurn?.held ?? {}).map((path) => (JSON.parse(path) as string[]).join('.'))

/** Held-back data in a sentence for a person, with the remedy. */
export const heldMessages = (memory: Memory): string[] => {
  const places = heldPlaces(memory)
  if (places.length === 0) return []
  const { changes, minutes } = memory.config?.churn ?? DEFAULT_CHURN
  return [
    `${places.join(', ')}: units changed it ${changes} times within ${minutes} minutes, and again: their last value is applied by an event after that. ` +
      'Leave out what is new at each run; data of a person, sent without a unit, is applied at once, and churn in the config allows more',
  ]
}

const withChurn = <M extends Memory>(memory: M, { recent, held = {} }: DataChurn): M => {
  const isHolding = Object.keys(held).length > 0
  const churn =
    Object.keys(recent).length > 0 || isHolding ? defined({ recent, held: isHolding ? held : undefined }) : undefined
  return isDeepStrictEqual(churn, memory.dataChurn) ? memory : defined({ ...memory, dataChurn: churn })
}

type Places = Readonly<Record<string, string | null>>

const changed = (was: Places, told: Places): string[] =>
  [...new Set([...Object.keys(was), ...Object.keys(told)])].filter(
    (path) => (ownValue(was, path) ?? null) !== (ownValue(told, path) ?? null),
  )

const textsByPlace = ({ settings = {}, databag = {} }: Memory): Record<string, string> =>
  Object.fromEntries([
    ...Object.entries(settings).map(([key, text]) => [JSON.stringify(['settings', key]), text]),
    ...Object.entries(databag).flatMap(([endpoint, texts]) =>
      Object.entries(texts).map(([key, text]) => [JSON.stringify(['databag', endpoint, key]), text]),
    ),
  ])

/** The memory with these texts, each in its place. */
const withTexts = <M extends Memory>(memory: M, texts: Texts): M => {
  const present = Object.entries(texts).map(([path, text]) => ({ place: JSON.parse(path) as string[], text }))
  const of = (about: string) => present.filter(({ place: [first] }) => first === about)
  const settings = of('settings').map(({ place, text }) => [place[1] ?? '', text] as const)
  const databag = [...Map.groupBy(of('databag'), ({ place }) => place[1] ?? '')].map(
    ([endpoint, all]) => [endpoint, Object.fromEntries(all.map(({ place, text }) => [place[2] ?? '', text]))] as const,
  )
  return defined({
    ...memory,
    settings: memory.settings || settings.length > 0 ? Object.fromEntries(settings) : undefined,
    databag: memory.databag || databag.length > 0 ? Object.fromEntries(databag) : undefined,
  })
}
