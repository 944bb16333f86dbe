import { expect, test } from 'vitest'
import { rehearse } from '../../../src/ask/preview/rehearse.ts'
import { createFork, type Fork } from '../../../src/embedded/fork/fork.ts'
import { features } from '../../../src/features.ts'
import { functions } from '../../helpers/functions.ts'
import { event } from '../../helpers/world.ts'
import { createPlace } from './planned.ts'

const POD = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x', namespace: 'shop' } }

/** A fork in which events follow for ever, about nothing that has a step. */
const looping = (fork: Fork): Fork => ({
  ...fork,
  events: () => [{ ...event('resync', {}), type: 'dev.knative.apiserver.resource.update', data: POD }],
})

test('a plan in which events follow without end says that it is not complete', async () => {
  const { api, clock } = createPlace(['db'])
  const fork = createFork(async (path) => api.handle({ method: 'GET', path, headers: {} }))
  const { incomplete } = await rehearse(
    { features, functions, clock, environment: { resolver: '10.96.0.10' }, timeoutMilliseconds: 20_000 },
    looping(fork),
    {
      proposal: { events: [event('config-changed', { application: 'db', config: {} })], objects: [], expectations: [] },
      ...{ sender: undefined, deadline: clock.now() + 20_000, isDeletion: false },
    },
  )
  expect(incomplete).toEqual(['more than 2000 events follow: what comes after them is not planned'])
})
