import type { Announcement } from '../../../src/core/feature/feature.ts'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { type Announced, announce, markAccepted, nothingAnnounced } from '../../../src/features/services/announced.ts'
import { announcements } from '../../../src/features/services/service-announcements.ts'
import { offeredBy, relation } from './relations.ts'

/** The memory of an application that uses services. */
export type Memory = { readonly relations: readonly Relation[]; readonly announced: Announced }

export const SUBJECT = { namespace: 'shop', application: 'web' }

export const nothing: Memory = { relations: [], announced: nothingAnnounced() }

/** As a step folds an event in, and saves it: relations that changed (undefined for a broken one), and what is to be announced. */
export const folded = (
  { relations, announced }: Memory,
  changes: Readonly<Record<number, Databag | Relation | undefined>> = {},
  now = 0,
): Memory => {
  const kept = relations.filter(({ id }) => !(id in changes))
  const changed = Object.entries(changes).flatMap(([id, change]) => {
    if (change === undefined) return []
    return [isRelation(change) ? change : relation(Number(id), change)]
  })
  const after = [...kept, ...changed]
  return { relations: after, announced: announce(announced, offeredBy(after, announced).services, now) }
}

const isRelation = (change: Databag | Relation): change is Relation => 'remote' in change

/** What the step then sends to the sink. */
export const toSend = ({ announced }: Memory): Announcement[] => announcements(SUBJECT, announced)

/** As a step ends when the sink has taken all of it. */
export const settled = (memory: Memory): Memory => ({
  ...memory,
  announced: markAccepted(
    memory.announced,
    toSend(memory).map(({ number }) => number),
  ),
})

/** `service-available 7 db.shop.svc.cluster.local:5432` for each. */
export const told = (memory: Memory): string[] =>
  toSend(memory).map(({ event: { id, type, data } }) => {
    const { service } = data as { service?: { host: string; port: number } }
    const [, name] = /^dev\.meshstep\.(.*)\.v1$/.exec(type) ?? []
    return [name, id.split('/')[2], ...(service ? [`${service.host}:${service.port}`] : [])].join(' ')
  })
