import { expect, test } from 'vitest'
import {
  mergeSettings,
  ownedKeys,
  refuseOwnedKeys,
  selectCustomData,
  withCustomData,
} from '../../../../src/core/relations/databags/application-data.ts'
import type { Config } from '../../../../src/core/state/config.ts'
import { emptyState, type State } from '../../../../src/core/state/state.ts'
import type { Unit } from '../../../../src/core/units/units.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'

const configOf = (config: unknown): Config => features.config.parse(config)

const DB = { ...entryOf({ endpoint: 'db', interface: 'sql' }), remote: { application: 'db', data: {} } }
const MESH = { ...entryOf(), remote: { application: 'beacon', data: {} } }

test('the custom data of a peer are its keys outside the protocol of the interface', () => {
  expect(selectCustomData('service_mesh', undefined)).toBeUndefined()
  expect(selectCustomData('service_mesh', { data: { labels: '{}' } })).toBeUndefined()
  expect(selectCustomData('service_mesh', { data: { labels: '{}', team: 'a' } })).toEqual({ data: { team: 'a' } })
  expect(selectCustomData('sql', { data: { labels: '{}' } })).toEqual({ data: { labels: '{}' } })
  expect(selectCustomData('k8s-service', { data: { 'service-name': 'db', name: 'db', team: 'a' } })).toEqual({
    data: { team: 'a' },
  })
  expect(selectCustomData('sql', { data: { scrape_jobs: '[]', alert_rules: '{}', a: 'b' } })).toEqual({
    data: { a: 'b' },
  })
})

test('the custom data of units are those of units that have some', () => {
  const units = { 'db/0': { labels: 'x', port: '1' }, 'db/1': { labels: 'x' }, 'db/2': {} }
  expect(selectCustomData('service_mesh', { data: {}, units })).toEqual({ data: {}, units: { 'db/0': { port: '1' } } })
  expect(selectCustomData('service_mesh', { data: {}, units: { 'db/1': { labels: 'x' } } })).toBeUndefined()
  expect(selectCustomData('sql', { data: { a: 'b' }, units: {} })).toEqual({ data: { a: 'b' } })
})

const unit = (number: number, databag?: Unit['databag']): Unit => ({
  ...{ number, pod: `web-${number}` },
  ...(databag && { databag }),
})

const speaker = (changes: Partial<State>): State => ({ ...emptyState(), ...changes })

test('what the config publishes in a relation takes precedence over what the leader does, and the protocol over both', () => {
  const config = configOf({ databag: { db: { a: 'config', b: 'config' } } })
  const own = speaker({ config, databag: { db: { a: 'leader', c: 'leader' }, other: { d: 'leader' } } })
  expect(withCustomData('web', own, DB, { data: { b: 'protocol' } })).toEqual({
    data: { a: 'config', b: 'protocol', c: 'leader' },
  })
  expect(withCustomData('web', own, DB, undefined)).toEqual({ data: { a: 'config', b: 'config', c: 'leader' } })
})

test('an application without custom data publishes what the protocol does, or nothing', () => {
  const published = { data: { labels: '{}' }, partial: true as const }
  expect(withCustomData('web', speaker({}), DB, undefined)).toBeUndefined()
  expect(withCustomData('web', speaker({}), DB, published)).toBe(published)
  const reserved = speaker({ databag: { 'service-mesh': { labels: 'x' } } })
  expect(withCustomData('web', reserved, MESH, published)).toBe(published)
})

test('each unit publishes its own data in a relation', () => {
  const present = { 1: unit(0, { db: { port: '1' } }), 2: unit(1), 3: unit(2, { other: { port: '3' } }) }
  const own = speaker({ units: { ...emptyState().units, present } })
  expect(withCustomData('web', own, DB, undefined)).toEqual({ data: {}, units: { 'web/0': { port: '1' } } })
  expect(
    withCustomData('web', own, DB, { data: {}, units: { 'web/0': { address: 'x' }, 'web/1': { a: 'b' } } }),
  ).toEqual({
    data: {},
    units: { 'web/0': { address: 'x', port: '1' }, 'web/1': { a: 'b' } },
  })
})

test('the settings of the config take precedence over those of the leader', () => {
  const config = configOf({ settings: { a: 'config' } })
  expect(mergeSettings({ config, settings: { a: 'leader', b: 'leader' } })).toEqual({ a: 'config', b: 'leader' })
  expect(mergeSettings({})).toEqual({})
})

test('a databag with a key of the protocol is refused, for the relations whose interface has the key', () => {
  const { relations } = stateOf([entryOf(), entryOf({ id: 2, endpoint: 'db', interface: 'sql' })])
  const reserved = { 'service-mesh': { labels: 'x', team: 'a' }, db: { labels: 'x' } }
  expect(ownedKeys(reserved, relations)).toEqual([
    'databag.service-mesh.labels: the interface service_mesh has this key itself; left out',
  ])
  expect(ownedKeys(undefined, relations)).toEqual([])
  expect(() => refuseOwnedKeys(reserved, { relations })).toThrow('data.databag.service-mesh.labels: ')
  expect(() => refuseOwnedKeys({ db: { labels: 'x' } }, { relations })).not.toThrow()
})

test('the custom data in a document of version 1 count as well, and the flat ones before them', () => {
  const document = { labels: {}, team: 'a', ports: [80], size: 1 }
  const flat = { team: 'a', ports: '[80]', size: '1' }
  expect(selectCustomData('service_mesh', { data: { data: JSON.stringify(document) } })).toEqual({ data: flat })
  expect(selectCustomData('service_mesh', { data: { data: JSON.stringify(document), team: 'b' } })).toEqual({
    data: { ...flat, team: 'b' },
  })
  expect(selectCustomData('service_mesh', { data: { data: '[', team: 'b' } })).toEqual({ data: { team: 'b' } })
  expect(selectCustomData('sql', { data: { data: JSON.stringify(document) } })).toEqual({
    data: { data: JSON.stringify(document) },
  })
})
