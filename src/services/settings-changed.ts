import * as z from 'zod'
import { at } from '../record.ts'
import { settingsOf } from '../relations/application-data.ts'
import { contentHash } from '../relations/mirror.ts'
import { type EffectiveState, relationsIn } from '../state.ts'
import type { Announced } from './announced.ts'

/** The last word about the settings of the application, or about what the other side of a relation says besides its protocol. */
export const Notice = z.strictObject({
  /** Of all announcements of the application: a later one has a higher number. */
  number: z.int().nonnegative(),
  /** A hash of what is said; absent once nothing is any more. */
  hash: z.string().optional(),
  /** Absent where they are the application's own. */
  relation: z.strictObject({ id: z.int(), endpoint: z.string(), application: z.string() }).optional(),
  /** For as long as it is not known that the sink has it. */
  pending: z.literal(true).optional(),
})
export type Notice = z.infer<typeof Notice>

/** The key of the application's own settings: no relation has it. */
const OWN = 'own'

/** Plans a `settings-changed` for each relation whose other side says something else than was announced, and for the own settings. */
export const notice = (announced: Announced, state: EffectiveState, now: number): Announced => {
  const { notices = {} } = announced
  const said = new Map(currentlySaid(state).map((one) => [one.key, one]))
  const unknown = relationsIn(state).flatMap(({ key, isUnknown }) => (isUnknown ? [key] : []))
  const changed = [...new Set([...Object.keys(notices), ...said.keys()])]
    .filter((key) => !unknown.includes(key) && at(notices, key)?.hash !== said.get(key)?.hash)
    .toSorted()
  if (changed.length === 0) return announced
  const first = Math.max(announced.last + 1, now)
  const entries = changed.map((key, index): [string, Notice] => {
    const { hash, relation } = { ...at(notices, key), hash: undefined, ...said.get(key) }
    return [key, { number: first + index, ...(hash && { hash }), ...(relation && { relation }), pending: true }]
  })
  return { ...announced, last: first + changed.length - 1, notices: { ...notices, ...Object.fromEntries(entries) } }
}

const currentlySaid = (state: EffectiveState): { key: string; hash: string; relation?: Notice['relation'] }[] => {
  const settings = settingsOf(state)
  const own = Object.keys(settings).length > 0 ? [{ key: OWN, hash: contentHash(settings) }] : []
  const told = relationsIn(state).flatMap(({ key, id, endpoint, remote: { application }, told }) =>
    told ? [{ key, hash: contentHash(told), relation: { id, endpoint, application } }] : [],
  )
  return [...own, ...told]
}

/** The notices once the sink has those of these numbers; what is over is forgotten. */
export const noticed = (
  notices: Readonly<Record<string, Notice>>,
  numbers: readonly number[],
): Record<string, Notice> =>
  Object.fromEntries(
    Object.entries(notices).flatMap(([key, { pending, ...rest }]): [string, Notice][] => {
      if (pending !== undefined && !numbers.includes(rest.number)) return [[key, { ...rest, pending }]]
      return rest.hash === undefined ? [] : [[key, rest]]
    }),
  )
