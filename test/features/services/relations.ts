import { publishable } from '../../../src/core/relations/databags/relation-data.ts'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { type Announced, nothingAnnounced } from '../../../src/features/services/announced.ts'
import { type OfferedServices, readServices } from '../../../src/features/services/offered.ts'
import { TOLD } from '../../helpers/relations.ts'

/** A relation of `k8s-service` in which `postgres` provides. */
export const relation = (id: number, data: Databag, changes: Partial<Relation> = {}): Relation => ({
  id,
  endpoint: 'db',
  interface: 'k8s-service',
  ...{ role: 'requires', ...TOLD },
  remote: { application: 'postgres', data },
  ...changes,
})

/** What is offered to an application of the namespace `shop`. */
export const offeredBy = (relations: readonly Relation[], announced: Announced = nothingAnnounced()): OfferedServices =>
  readServices({ namespace: 'shop', relations, announced })

export const FLAT = { 'service-name': 'db.shop', 'service-port': '5432' }

/** The same Service in every form there is. */
export const forms: readonly (readonly [name: string, data: Databag])[] = [
  ['the interface’s', FLAT],
  ['with a full name', { 'service-name': 'db.shop.svc.cluster.local', 'service-port': '5432' }],
  ['with a short name', { 'service-name': 'db', 'service-port': '5432' }],
  ['JSON values', { 'service-name': 'db.shop', 'service-port': 5432 }],
  ['strings of JSON', { 'service-name': '"db.shop"', 'service-port': '"5432"' }],
  ['mlops’', { name: 'db.shop', port: '5432' }],
  ['mlops’, short', { name: 'db', port: '5432' }],
  [
    'serialized-data-interface’s',
    { _supported_versions: '- v1\n', data: "service-name: db.shop\nservice-port: '5432'\n" },
  ],
  ['the same with numbers', { _supported_versions: '- 1\n', data: 'service-name: db.shop\nservice-port: 5432\n' }],
  ['the same, flat', { _supported_versions: '- v1\n', 'service-name': 'db.shop\n...\n', 'service-port': "'5432'\n" }],
  ['the same, of mlops', { _supported_versions: ['v1'], data: '{name: db, port: 5432}' }],
  ['this one’s', publishable(FLAT, [0, 1])],
  ['this one’s, version 1 alone', publishable(FLAT, [1])],
]
