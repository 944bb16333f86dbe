import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spokenVersions } from '../../../src/core/relations/databags/protocol-versions.ts'
import { decodePayload } from '../../../src/core/relations/databags/relation-data.ts'
import type { Versions } from '../../../src/core/state/config.ts'
import type { Databag } from '../../../src/core/state/relation.ts'
import { announce, nothingAnnounced } from '../../../src/features/services/announced.ts'
import { readServices } from '../../../src/features/services/offered.ts'
import { announcements } from '../../../src/features/services/service-announcements.ts'
import { SUBJECT } from './application.ts'
import { serviceDatabags } from './databags.ts'
import { forms, relation } from './relations.ts'

const services = { db: { name: 'db', port: 5432 } }

/** What a provider may be upgraded to, or downgraded to: the same Service in each. */
const providers: readonly Databag[] = [
  ...forms.map(([, data]) => data),
  ...([[0], [0, 1], [1]] as const).flatMap((versions) =>
    serviceDatabags({
      namespace: 'shop',
      relations: [relation(7, {}, { role: 'provides' })],
      services,
      versions: { 'k8s-service': [...versions] },
    }).map(({ data }) => data),
  ),
]

const requirers: readonly Versions[] = [{}, { 'k8s-service': [0] }, { 'k8s-service': [1] }]

test('whatever both sides are upgraded and downgraded to, in whatever order, the service is announced at most once', () => {
  const step = fc.record({ provider: fc.constantFrom(...providers), requirer: fc.constantFrom(...requirers) })
  let kept = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let announced = nothingAnnounced()
      for (const { provider, requirer } of steps) {
        const relations = [relation(7, provider)]
        const found = readServices({ namespace: 'shop', relations, versions: requirer, announced })
        expect(found).toMatchObject({ waiting: [], problems: [] })
        if ('incompatible' in decodePayload(provider, spokenVersions('k8s-service', requirer)))
          kept += found.services.length
        announced = announce(announced, found.services, 0)
      }
      expect(announcements(SUBJECT, announced).length).toBeLessThanOrEqual(1)
      expect(announced.last).toBeLessThanOrEqual(1)
    }),
  )
  expect(kept).toBeGreaterThan(0)
})

test('every pair of a provider and a requirer that is not held back gets on', () => {
  for (const provider of providers)
    expect(
      readServices({ namespace: 'shop', relations: [relation(7, provider)], announced: nothingAnnounced() }).services,
    ).toHaveLength(1)
})
