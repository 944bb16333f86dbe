import { expect, test } from 'vitest'
import { ENROLMENT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import { recordProgress } from '../../../../src/core/relations/offers/claims.ts'
import { configRequester, requesterNames } from '../../../../src/core/relations/requester-names.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import { edit } from '../../../helpers/beacon-world.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { createWorld, NAMESPACE, SUBJECT, type World } from '../../../helpers/world.ts'
import { createPair, isCaptured, isOnMesh, resync, startPair } from '../pair.ts'

const WORKLOAD = '/apis/apps/v1/namespaces/shop/statefulsets/details'

const label = (world: World, value: string | null): void =>
  edit(world, WORKLOAD, { spec: { template: { metadata: { labels: { [ENROLMENT_LABEL]: value } } } } })

const claimOf = (world: World): unknown => {
  const { data } = world.object('ConfigMap', 'juju-service-mesh-details-labels') ?? {}
  const { relations } = JSON.parse((data as Record<string, string>).state ?? '{}') as {
    relations: Record<string, { interface: string; claim?: { phase: string } }>
  }
  return Object.values(relations).find((one) => one.interface === 'service_mesh')?.claim?.phase
}

test('an application has not applied an offer before its labels are written, also where another manager held them', async () => {
  const world = createPair()
  label(world, 'none')
  await startPair(world)
  expect([isCaptured(world, 'details'), claimOf(world)]).toEqual([false, 'applied'])
  label(world, null)
  const claims: unknown[] = []
  world.intercept = ({ method, path }) => {
    if (method === 'PATCH' && path.startsWith(WORKLOAD)) claims.push(claimOf(world))
    return undefined
  }
  await resync(world, 'details')
  expect(claims[0]).toBe('claiming')
  expect([isOnMesh(world, 'details'), claimOf(world)]).toEqual([true, 'applied'])
})

test('labels in the data of a relation whose interface offers none are claimed by nobody', async () => {
  const world = createWorld()
  const relation = { id: 3, endpoint: 'db', interface: 'sql', role: 'requires' }
  await world.send('relation-changed', { relation, remote: { application: 'db', data: { labels: '{"tier":"red"}' } } })
  const [entry] = Object.values(world.memory()?.state.relations ?? {})
  expect(entry).toMatchObject({ status: 'established', remote: { data: { labels: '{"tier":"red"}' } } })
  expect(entry).not.toHaveProperty('claim')
})

test('an offer is applied once the policies stand that its relation and the config of its beacon ask for', () => {
  const entry = entryOf({
    remote: { application: 'beacon', data: { labels: '{"tier":"red"}' } },
    claim: { version: '', phase: 'claiming' },
  })
  const resolved = resolveRelations(SUBJECT, stateOf([entry]), new Map())
  const [relation] = Object.values(resolved.state.relations)
  const claimAfter = (...requesters: readonly string[]) => {
    const failed = { requesters: new Set(requesters), isUnlabelled: false, mayBeLabelled: false }
    const { relations } = recordProgress(SUBJECT, stateOf([entry]), resolved, new Map(), failed)
    return Object.values(relations).map(({ claim }) => claim?.phase)
  }
  expect(claimAfter()).toEqual(['applied'])
  expect(claimAfter(configRequester({ namespace: NAMESPACE, application: 'other' }))).toEqual(['applied'])
  expect(claimAfter(configRequester({ namespace: NAMESPACE, application: 'beacon' }))).toEqual(['claiming'])
  expect(claimAfter(...(relation ? requesterNames(SUBJECT, relation) : []))).toEqual(['claiming'])
})
