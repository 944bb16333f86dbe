import { expect, test } from 'vitest'
import { createMesh, requires } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'

const LEAVING = 'unable to create new content in namespace shop because it is being terminated'

const REFUSAL = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: `configmaps "x" is forbidden: ${LEAVING}`,
  reason: 'Forbidden',
  code: 403,
  details: {
    causes: [
      { reason: 'NamespaceTerminating', message: 'namespace shop is being terminated', field: 'metadata.namespace' },
    ],
  },
}

test.each([
  ['relation-changed', requires(7, { application: 'db' })],
  ['config-changed', { application: 'db', config: {} }],
])('a %s for a namespace that is being deleted has nothing to do, and is no dead letter', async (name, data) => {
  const world = createMesh(['db'], false)
  world.intercept = ({ method }) =>
    method === 'POST' ? { status: 403, headers: {}, body: JSON.stringify(REFUSAL) } : undefined
  const response = await world.post(event(name, data))
  expect([response.status, await response.json()]).toMatchObject([
    200,
    {
      status: 'unchanged',
      written: [],
      messages: ['Namespace shop is being deleted with all that is in it: nothing is done, or remembered'],
    },
  ])
  expect(world.published).toEqual([])
})
