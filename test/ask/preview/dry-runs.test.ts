import { describe, expect, test } from 'vitest'
import type { Sender } from '../../../src/core/access/authenticate.ts'
import type { Transport } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { event, workload } from '../../helpers/world.ts'
import { createPlace } from './planned.ts'

const config = { workload: { podSpec: { containers: [{ name: 'c', image: 'x:1', imagePullPolicy: 'Sometimes' }] } } }
const withSpec = event('config-changed', { namespace: 'shop', application: 'api', config })

const refusing = (code: number, reason: string, message: string) => ({
  status: code,
  headers: {},
  body: JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message }),
})

/** A cluster that answers dry runs in its own way, and the dry runs that it was asked for. */
const answering = (answer: ReturnType<typeof refusing> | undefined, sender?: Sender) => {
  const asked: { path: string; authorization: string | undefined }[] = []
  const place = createPlace(['web'], {
    ...(sender && { authenticate: async () => sender }),
    intercept: async (request): ReturnType<Transport> => {
      if (request.path.includes('dryRun=All')) {
        asked.push({ path: request.path.replace(/\?.*/, ''), authorization: request.headers.authorization })
        if (answer) return answer
      }
      return place.api.handle(request)
    },
  })
  return { place, asked }
}

const labelled = (): KubernetesObject => {
  const object = workload('StatefulSet', 'web')
  const { template } = object.spec as { template: { metadata: { labels: Record<string, string> } } }
  template.metadata.labels.team = 'red'
  return object
}

const SELECTED = '/apis/apps/v1/namespaces/shop/statefulsets/web'

describe('a plan asks the API server by a dry run', () => {
  test('a spec that it refuses refuses the event, as it would without a plan', async () => {
    const { place } = answering(refusing(422, 'Invalid', 'imagePullPolicy: Unsupported value: "Sometimes"'))
    await expect(place.plan({ events: [withSpec] })).rejects.toThrow(/Unsupported value: "Sometimes"/)
  })

  test('a document that it refuses is named, and changes nothing', async () => {
    const { place } = answering(refusing(422, 'Invalid', 'spec.serviceName: field is immutable'))
    const { objects, incomplete } = await place.plan({ objects: [labelled()] })
    expect([objects, incomplete]).toEqual([
      [],
      ['StatefulSet shop/web is not planned: TRY StatefulSet shop/web: 422 spec.serviceName: field is immutable'],
    ])
  })

  test.each([
    ['who asks may not', refusing(403, 'Forbidden', 'statefulsets "web" is forbidden: User "a" cannot patch resource')],
    ['it does not accept the token', refusing(401, 'Unauthorized', 'Unauthorized')],
    ['a webhook fails', refusing(500, 'InternalError', 'failed calling webhook')],
  ])('a document of which it cannot say is planned, with that: %s', async (_, answer) => {
    const { place } = answering(answer)
    const { objects, messages } = await place.plan({ objects: [labelled()] })
    expect(objects.map(({ object }) => object)).toEqual(['StatefulSet shop/web'])
    expect(messages).toEqual([
      expect.stringMatching(/^it is not known if the API server takes StatefulSet shop\/web: TRY .*: (403|401|500) /),
    ])
  })

  test('a document in a namespace that is only planned is planned, with that', async () => {
    const { place } = answering(undefined)
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } }
    const inside = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'new' }, data: {} }
    const { objects, messages } = await place.plan({ objects: [home, inside] })
    expect(objects.map(({ object }) => object)).toEqual(['ConfigMap new/a', 'Namespace new'])
    expect(messages).toEqual([expect.stringContaining('takes ConfigMap new/a: TRY ConfigMap new/a: 404')])
  })

  test('with the rights of whoever asks, and nothing is asked for a deletion', async () => {
    const sender: Sender = {
      author: { username: 'a', groups: [] },
      authorize: async () => undefined,
      mayGet: async () => true,
    }
    const { place, asked } = answering(undefined, sender)
    const proposal = { events: [], objects: [labelled()], expectations: [] }
    const { messages } = await place.preview(proposal, { authorization: 'Bearer of-a' })
    expect([messages, asked]).toEqual([[], [{ path: SELECTED, authorization: 'Bearer of-a' }]])
    await place.preview(proposal, { authorization: 'Bearer of-a', isDeletion: true })
    expect(asked).toHaveLength(1)
  })

  test('a dry run writes nothing', async () => {
    const { place } = answering(undefined)
    const before = JSON.stringify(place.api.objects())
    await place.plan({ objects: [labelled()] })
    expect(JSON.stringify(place.api.objects())).toBe(before)
  })
})
