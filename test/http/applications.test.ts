import { describe, expect, test } from 'vitest'
import { createWorld, NAMESPACE } from '../helpers/world.ts'

const MEMORY = 'juju-service-mesh-web-labels'

const createTaken = (data: Record<string, string> | undefined) => {
  const world = createWorld()
  const metadata = { name: MEMORY, namespace: NAMESPACE }
  world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...(data && { data }) }], {
    manager: 'kubectl-create',
  })
  return world
}

describe('an application under whose memory’s name there is a ConfigMap of somebody else', () => {
  test('is answered with whose it is, as an event is', async () => {
    const world = createTaken({ colour: 'blue' })
    const answer = await world.app.request('/applications/shop/web')
    expect([answer.status, await answer.json()]).toEqual([
      500,
      {
        status: 500,
        reason: 'broken',
        message: expect.stringMatching(
          /^ConfigMap shop\/juju-service-mesh-web-labels is no memory: it is written by kubectl-create, and has colour in place of labels and state\..* Rename or delete it/,
        ),
      },
    ])
    await expect(world.send('config-changed', { config: {} })).rejects.toThrow(/is no memory/)
    expect(world.object('ConfigMap', MEMORY)?.data).toEqual({ colour: 'blue' })
  })

  test.each([[undefined], [{ labels: '{"a":"b"}' }]])(
    'that may be the charm library’s, %j, is not active',
    async (data) => {
      const answer = await createTaken(data).app.request('/applications/shop/web')
      expect(await answer.json()).toMatchObject({
        status: { status: 'waiting', message: expect.stringMatching(/is the charm library's, or somebody else's/) },
        labels: data ? { a: 'b' } : {},
      })
    },
  )
})
