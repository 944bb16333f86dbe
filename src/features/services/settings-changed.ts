import { mergeSettings } from '../../core/relations/databags/application-data.ts'
import { contentHash } from '../../core/relations/offers/published-version.ts'
import { relationsIn } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Announced } from './announced.ts'
import type { Notice } from './notices.ts'

/** The key of the application's own settings. No relation has this key. */
const OWN = 'own'

/** Plans a `settings-changed` for each relation whose peer's data differ from the announced ones, and for the application's own settings. */
export const announceSettings = (announced: Announced, state: EffectiveState, now: number): Announced => {
  const { notices = {} } = announced
  const said = new Map(currentHashes(state).map((one) => [one.key, one]))
  const unknown = relationsIn(state).flatMap(({ key, source }) => (source === 'unknown' ? [key] : []))
  const changed = [...new Set([...Object.keys(notices), ...said.keys()])]
    .filter((key) => !unknown.includes(key) && ownValue(notices, key)?.hash !== said.get(key)?.hash)
    .toSorted()
  if (changed.length === 0) return announced
  const first = Math.max(announced.last + 1, now)
  const entries = changed.map((key, index): [string, Notice] => {
    const { hash, relation } = { ...ownValue(notices, key), hash: undefined, ...said.get(key) }
    return [key, { number: first + index, ...(hash && { hash }), ...(relation && { relation }), pending: true }]
  })
  return { ...announced, last: first + changed.length - 1, notices: { ...notices, ...Object.fromEntries(entries) } }
}

const currentHashes = (state: EffectiveState): { key: string; hash: string; relation?: Notice['relation'] }[] => {
  const settings = mergeSettings(state)
  const own = Object.keys(settings).length > 0 ? [{ key: OWN, hash: contentHash(settings) }] : []
  const customData = relationsIn(state).flatMap(({ key, id, endpoint, remote: { application }, customData }) =>
    customData ? [{ key, hash: contentHash(customData), relation: { id, endpoint, application } }] : [],
  )
  return [...own, ...customData]
}
