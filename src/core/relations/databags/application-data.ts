import { Refused } from '../../../platform/base/errors.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import { protocolOf } from '../../state/interfaces.ts'
import type { CustomData, Databags, PublishedData, RelationIdentity } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import type { LeaderSettings } from '../../units/leader-settings.ts'
import { unitName } from '../../units/units.ts'
import { DOCUMENT_KEY, documentIn, VERSIONS_KEY } from './protocol-versions.ts'

const ANYWHERE = ['scrape_jobs', 'scrape_metadata', 'alert_rules', 'metadata']
const VERSIONED = [DOCUMENT_KEY, VERSIONS_KEY]

const isOwned = (name: string, key: string): boolean =>
  ANYWHERE.includes(key) || (protocolOf(name)?.keys.concat(VERSIONED).includes(key) ?? false)

const omitProtocolKeys = <T>(name: string, data: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !isOwned(name, key)))

/** Selects the custom data of a databag: the keys outside the interface's protocol. Undefined if there are none. */
export const selectCustomData = (name: string, published: PublishedData | undefined): CustomData | undefined => {
  if (published === undefined) return undefined
  const data = omitProtocolKeys(name, {
    ...(protocolOf(name) && flattenDocument(published.data)),
    ...published.data,
  })
  const units = Object.entries(published.units ?? {})
    .map(([unit, bag]) => [unit, omitProtocolKeys(name, bag)] as const)
    .filter(([, bag]) => Object.keys(bag).length > 0)
  if (Object.keys(data).length === 0 && units.length === 0) return undefined
  return defined({ data, units: units.length > 0 ? Object.fromEntries(units) : undefined })
}

/** Merges the settings. The config's take precedence over the leader's. */
export const mergeSettings = ({ config, settings }: Pick<State, 'config' | 'settings'>): LeaderSettings => ({
  ...settings,
  ...config?.settings,
})

/** Reads the document of version 1 as flat keys. */
const flattenDocument = (data: PublishedData['data']): Record<string, string> => {
  const document = documentIn(data)
  const content = 'value' in document ? (document.value ?? {}) : {}
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

type Spoken = Pick<RelationIdentity, 'endpoint' | 'interface'>

type Speaker = Pick<State, 'config' | 'databag' | 'units'>

/** Collects the custom data of the application and of its units. The config's take precedence over the leader's. */
const collectCustomData = (
  application: string,
  { config, databag, units }: Speaker,
  { endpoint, interface: name }: Spoken,
): Required<CustomData> => ({
  data: omitProtocolKeys(name, { ...ownValue(databag, endpoint), ...ownValue(config?.databag, endpoint) }),
  units: Object.fromEntries(
    Object.values(units.present).flatMap(({ number, databag: own }) => {
      const bag = ownValue(own, endpoint)
      return bag ? [[unitName(application, number), omitProtocolKeys(name, bag)] as const] : []
    }),
  ),
})

/** Merges the custom data into the protocol's. Undefined if both are empty. */
export const withCustomData = (
  application: string,
  speaker: Speaker,
  relation: Spoken,
  published: PublishedData | undefined,
): PublishedData | undefined => {
  const own = collectCustomData(application, speaker, relation)
  const names = Object.keys({ ...own.units, ...published?.units })
  if (Object.keys(own.data).length === 0 && Object.keys(own.units).length === 0) return published
  const units = names.map(
    (unit) => [unit, { ...ownValue(own.units, unit), ...ownValue(published?.units, unit) }] as const,
  )
  return {
    ...published,
    data: { ...own.data, ...published?.data },
    ...(units.length > 0 && { units: Object.fromEntries(units) }),
  }
}

type Relations = Readonly<Record<string, RelationIdentity>>

/** Describes the keys of a databag that are left out because a protocol reserves them. */
export const ownedKeys = (databag: Databags | undefined, relations: Relations): string[] =>
  Object.values(relations).flatMap(({ endpoint, interface: name }) =>
    Object.keys(ownValue(databag, endpoint) ?? {})
      .filter((key) => isOwned(name, key))
      .map((key) => `databag.${endpoint}.${key}: the interface ${name} has this key itself; left out`),
  )

/** Throws Refused if a databag has a key that the protocol of a relation reserves. */
export const refuseOwnedKeys = (databag: Databags | undefined, { relations }: Pick<State, 'relations'>): void => {
  const [problem] = ownedKeys(databag, relations)
  if (problem !== undefined) throw new Refused(400, `data.${problem}`)
}
