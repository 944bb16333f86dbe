import { expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { recordEvent } from '../../../src/platform/kubernetes/event-series.ts'
import { apiVersionOf } from '../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../helpers/clock.ts'

const EVENT = {
  apiVersion: apiVersionOf('Event'),
  kind: 'Event',
  metadata: { name: 'web.1', namespace: 'shop' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  ...{ type: 'Warning', reason: 'DeadLetter', action: 'Deliver', note: 'refused' },
  regarding: { kind: 'ConfigMap', namespace: 'shop', name: 'web' },
  ...{ reportingController: 'meshstep.dev/functions', reportingInstance: 'a' },
}

test('occurrences that several processes record at once are all counted', async () => {
  const clock = fakeClock()
  const now = new Date(clock.now())
  const api = createEmbeddedApi({ now: () => now })
  api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }], { manager: 'kubectl' })
  const kubernetes = createKubernetes({
    ...{ clock, deadline: clock.now() + 10_000 },
    transport: async (request) => api.handle(request),
  })
  const recorded = await Promise.all(
    Array.from({ length: 4 }, () => recordEvent(kubernetes, EVENT, { manager: 'a', now })),
  )
  expect(recorded).toEqual([true, true, true, true])
  expect(api.objects().find(({ kind }) => kind === 'Event')).toMatchObject({ series: { count: 4 } })
})
