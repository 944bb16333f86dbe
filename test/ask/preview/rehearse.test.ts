import { expect, test } from 'vitest'
import { createPlannedCluster, type PlannedCluster } from '../../../src/ask/preview/cluster/planned-cluster.ts'
import { rehearse } from '../../../src/ask/preview/rehearse.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { functions } from '../../helpers/functions.ts'
import { event } from '../../helpers/world.ts'
import { createPlace } from './planned.ts'

const POD = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x', namespace: 'shop' } }

/** A planned cluster in which events follow for ever, about nothing that has a step. */
const looping = (planned: PlannedCluster): PlannedCluster => ({
  ...planned,
  events: () => [{ ...event('resync', {}), type: 'dev.knative.apiserver.resource.update', data: POD }],
})

test('a plan in which events follow without end says that it is not complete', async () => {
  const { clock, transport } = createPlace(['db'])
  const deadline = clock.now() + 20_000
  const cluster = createKubernetes({ transport, clock, deadline })
  const { incomplete } = await rehearse(
    { features, functions, clock, environment: { resolver: '10.96.0.10' }, timeoutMilliseconds: 20_000 },
    looping(createPlannedCluster(cluster, clock, deadline)),
    {
      proposal: { events: [event('config-changed', { application: 'db', config: {} })], objects: [], expectations: [] },
      ...{ sender: undefined, asAsker: cluster, isDeletion: false },
    },
  )
  expect(incomplete).toEqual(['more than 2000 events follow: what comes after them is not planned'])
})
