import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isForbidden } from '../../src/platform/kubernetes/api-error.ts'
import { recordEvent } from '../../src/platform/kubernetes/event-series.ts'
import { deadLetterKubernetesEvent, MANAGER } from '../../src/serve/http/dead-letter-kubernetes-event.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  if (!noCluster) cluster = await openCluster()
})
afterAll(() => cluster?.close())

describe.skipIf(noCluster)(`the account of the dead-letter sink ${noCluster ?? ''}`, () => {
  test('the account of the dead-letter sink makes one Event, and counts in it how often a dead letter came', async () => {
    const letter = { id: '1', source: '/contract', type: 'dev.meshstep.resync.v1', extensions: {} }
    const record = (reason: string, now: Date) => {
      const event = deadLetterKubernetesEvent({ ...letter, subject: `${cluster.namespace}/web`, data: {} }, reason, now)
      if (!event) throw new Error('expected an Event')
      const account = cluster.as(`system:serviceaccount:${cluster.namespace}:meshstep-dead-letter`)
      return recordEvent(account, event, { manager: MANAGER, now })
    }
    const mayNot = (error: unknown) => (isForbidden(error) ? undefined : Promise.reject(error))
    await until('it has its rights', () => record('no labels', new Date(0)).then(() => true, mayNot))
    await record('no labels', new Date(60_000))
    await record('no labels', new Date(120_000))
    await record('x'.repeat(5000), new Date(120_000))
    const events = await cluster.kubernetes.list('Event', cluster.namespace)
    const regarding = { kind: 'ConfigMap', name: 'juju-service-mesh-web-labels' }
    expect(events).toHaveLength(2)
    expect(events.find(({ note }) => !String(note).includes('xxx'))).toMatchObject({
      reason: 'DeadLetter',
      regarding,
      eventTime: '1970-01-01T00:00:00.000000Z',
      series: { count: 3, lastObservedTime: '1970-01-01T00:02:00.000000Z' },
    })
  })
})
