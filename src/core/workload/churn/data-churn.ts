import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { SpecSource } from '../../state/config.ts'
import { type Churn, DEFAULT_CHURN, Recent, tooOften, withChange } from './limit.ts'

/**
 * The recent changes of each place in the data of an application and its units, and the values held back: text, or null for a removal. A
 * place is `["settings", key]`, `["databag", endpoint, key]` or `["unit", pod uid, endpoint, key]`, as JSON.
 */
export const DataChurn = z.strictObject({
  recent: Recent,
  held: z.record(z.string(), z.string().nullable()).optional(),
})
export type DataChurn = z.infer<typeof DataChurn>

type Texts = Readonly<Record<string, string>>

type UnitData = { readonly pod?: string; readonly databag?: Readonly<Record<string, Texts>> | undefined }

/** The data of an application and its units in a memory, and their limit of changes. */
type Memory = {
  readonly config?: { readonly churn?: Churn | undefined } | undefined
  readonly settings?: Texts | undefined
  readonly databag?: Readonly<Record<string, Texts>> | undefined
  readonly units?: { readonly present: Readonly<Record<string, UnitData>> } | undefined
  readonly dataChurn?: DataChurn | undefined
}

/**
 * Applies the settings and databags that units sent, except for places that units have changed as often as `churn` allows. These keep their
 * values. The last held-back value is applied as soon as the limit allows. A person's changes are applied at once.
 */
export const withDataChurn = <M extends Memory>(before: M, after: M, by: SpecSource, now: number): M => {
  // the data of a unit go when the unit goes
  const isLeft = (path: string) => partAt(path, after) !== undefined
  const was = Object.fromEntries(Object.entries(textsByPlace(before)).filter(([path]) => isLeft(path)))
  const told = textsByPlace(after)
  const { recent = {}, held = {} } = after.dataChurn ?? {}
  const isToldAt = (path: string) => partAt(path, before)?.data !== partAt(path, after)?.data
  // data are sent as a whole; held-back values of other parts remain candidates
  const waiting = Object.fromEntries(Object.entries(held).filter(([path]) => isLeft(path) && !isToldAt(path)))
  const asked: Places = { ...told, ...waiting }
  const churn = after.config?.churn ?? DEFAULT_CHURN
  const paths = changed(was, asked).filter((path) => by === 'unit' || isOfUnit(path) || !isToldAt(path))
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

/** Names the held-back places for messages. */
export const heldPlaces = ({ dataChurn, units }: Memory): string[] =>
  Object.keys(dataChurn?.held ?? {}).map((path) => {
    const [about = '', ...rest] = JSON.parse(path) as string[]
    if (about !== 'unit') return [about, ...rest].join('.')
    const [uid = '', ...keys] = rest
    return `${['databag', ...keys].join('.')} of pod ${ownValue(units?.present, uid)?.pod ?? uid}`
  })

/** Describes held-back data to a person, with the remedy. */
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

/** Tells if a place belongs to a unit. Only that unit sets it, whoever sent the event. */
const isOfUnit = (path: string): boolean => path.startsWith('["unit",')

/** Returns the part of the memory with a place. It is always sent as a whole. Undefined for a unit that is gone. */
const partAt = (path: string, { settings, databag, units }: Memory): { readonly data: unknown } | undefined => {
  const [about, uid = ''] = JSON.parse(path) as string[]
  if (about === 'settings') return { data: settings }
  if (about === 'databag') return { data: databag }
  const unit = ownValue(units?.present, uid)
  return unit && { data: unit.databag }
}

const textsByPlace = ({ settings = {}, databag = {}, units }: Memory): Record<string, string> =>
  Object.fromEntries([
    ...Object.entries(settings).map(([key, text]) => [JSON.stringify(['settings', key]), text]),
    ...databagTexts(['databag'], databag),
    ...Object.entries(units?.present ?? {}).flatMap(([uid, unit]) => databagTexts(['unit', uid], unit.databag)),
  ])

const databagTexts = (at: readonly string[], databag: UnitData['databag'] = {}): [path: string, text: string][] =>
  Object.entries(databag).flatMap(([endpoint, texts]) =>
    Object.entries(texts).map(([key, text]): [string, string] => [JSON.stringify([...at, endpoint, key]), text]),
  )

type PlacedText = { readonly place: readonly string[]; readonly text: string }

/** Puts texts into their places in the memory. */
const withTexts = <M extends Memory>(memory: M, texts: Texts): M => {
  const placed = Object.entries(texts).map(([path, text]) => ({ place: JSON.parse(path) as string[], text }))
  const under = (...at: readonly string[]): PlacedText[] =>
    placed
      .filter(({ place }) => at.every((step, index) => place[index] === step))
      .map(({ place, text }) => ({ place: place.slice(at.length), text }))
  const [settings, databag] = [under('settings'), under('databag')]
  const { units } = memory
  const withData = (uid: string, unit: UnitData): UnitData =>
    defined({ ...unit, databag: unit.databag && databagOf(under('unit', uid)) })
  return defined({
    ...memory,
    settings: memory.settings || settings.length > 0 ? textsOf(settings) : undefined,
    databag: memory.databag || databag.length > 0 ? databagOf(databag) : undefined,
    units: units && {
      ...units,
      present: Object.fromEntries(Object.entries(units.present).map(([uid, unit]) => [uid, withData(uid, unit)])),
    },
  })
}

const textsOf = (placed: readonly PlacedText[]): Texts =>
  Object.fromEntries(placed.map(({ place: [key = ''], text }) => [key, text]))

const databagOf = (placed: readonly PlacedText[]): Readonly<Record<string, Texts>> =>
  Object.fromEntries(
    [...Map.groupBy(placed, ({ place: [endpoint = ''] }) => endpoint)].map(([endpoint, all]) => [
      endpoint,
      textsOf(all.map(({ place, text }) => ({ place: place.slice(1), text }))),
    ]),
  )
