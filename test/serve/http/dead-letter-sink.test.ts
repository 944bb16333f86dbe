import { describe, expect, test } from 'vitest'
import type { Log } from '../../../src/platform/base/log.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { deadLetterKubernetesEvent } from '../../../src/serve/http/dead-letter-kubernetes-event.ts'
import { createDeadLetterSink } from '../../../src/serve/http/dead-letter-sink.ts'
import { event } from '../../helpers/world.ts'

const now = new Date('2026-01-02T03:04:05.678Z')

const fromApiServer = (verb: string, object: Record<string, unknown>): Event => ({
  id: '1',
  source: 'https://10.96.0.1:443',
  subject: '/apis/v1/namespaces/shop/x/y',
  type: `dev.knative.apiserver.resource.${verb}`,
  extensions: {},
  data: { metadata: { name: 'y', namespace: 'shop' }, ...object },
})

const document = (kind: string, data: Record<string, string>): Record<string, unknown> => ({
  kind: 'ConfigMap',
  metadata: { name: 'y', namespace: 'shop', labels: { 'meshstep.dev/kind': kind } },
  data,
})

const pod = {
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'shop', uid: 'u', labels: { 'app.kubernetes.io/name': 'web' } },
}

describe('the Kubernetes Event of a dead letter', () => {
  test('the Kubernetes Event of a dead letter is on the memory of its application, and names type, id and reason', () => {
    const sent = event('relation-broken', { relation: { id: 1 } })
    const told = deadLetterKubernetesEvent(sent, 'no such\nrelation', now)
    expect(told).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      metadata: { namespace: 'shop', name: expect.stringMatching(/^juju-service-mesh-web-labels\.[0-9a-f]{16}$/) },
      eventTime: '2026-01-02T03:04:05.678000Z',
      type: 'Warning',
      regarding: { kind: 'ConfigMap', namespace: 'shop', name: 'juju-service-mesh-web-labels' },
    })
    expect(told?.note).toContain(`dev.meshstep.relation-broken.v1 ${sent.id} of`)
    expect(told?.note).toMatch(/was not delivered: no such relation$/)
  })

  test.each([
    ['its subject', { ...event('resync', {}), subject: 'shop/web', data: undefined }],
    ['a pod', fromApiServer('add', pod)],
    ['a config document', fromApiServer('add', document('config', { application: 'web', config: '{}' }))],
    [
      'a document that cannot be read',
      fromApiServer('update', document('config', { application: 'web', config: '{' })),
    ],
    ['a relation document without more', fromApiServer('add', document('relation', { application: '"web"' }))],
  ])('the Kubernetes Event of a dead letter knows the application by %s', (_, sent) => {
    expect(deadLetterKubernetesEvent(sent, undefined, now)?.regarding).toMatchObject({
      name: 'juju-service-mesh-web-labels',
    })
  })

  test.each([
    ['no application', { ...event('resync', { application: undefined }), subject: 'shop' }],
    ['a name that is none', { ...event('resync', {}), subject: '../web', data: undefined }],
    ['no data', { ...event('resync', {}), subject: undefined, data: undefined } as unknown as Event],
    ['bytes', { ...event('resync', {}), subject: undefined, data: Buffer.from('x') } as unknown as Event],
    ['a document without one', fromApiServer('add', document('config', { config: '{}' }))],
    ['another kind', fromApiServer('add', { kind: 'Secret' })],
    ['no object', { ...fromApiServer('add', {}), data: 'x' }],
  ])('the Kubernetes Event of a dead letter is not made where there is %s', (_, sent) => {
    expect(deadLetterKubernetesEvent(sent, undefined, now)).toBeUndefined()
  })

  test('the Kubernetes Event of a dead letter has the same name when it comes again, and another for another reason', () => {
    const sent = event('resync', {})
    const nameOf = (reason: string, at: Date) => deadLetterKubernetesEvent(sent, reason, at)?.metadata.name
    expect(nameOf('a', new Date(0))).toBe(nameOf('a', now))
    expect(nameOf('b', now)).not.toBe(nameOf('a', now))
  })

  test('of a document has the same name whenever it is written, and another for another document', () => {
    const written = fromApiServer('update', document('config', { application: 'web', config: '{' }))
    const nameOf = (id: string, name: string) =>
      deadLetterKubernetesEvent({ ...written, id, subject: `/apis/v1/namespaces/shop/configmaps/${name}` }, 'a', now)
        ?.metadata.name
    expect(nameOf('1', 'x')).toBeDefined()
    expect(nameOf('1', 'x')).toBe(nameOf('2', 'x'))
    expect(nameOf('1', 'x')).not.toBe(nameOf('1', 'y'))
  })

  test('the Kubernetes Event of a dead letter is no longer than the API server takes, also in other letters', () => {
    for (const reason of ['x'.repeat(5000), '\u{1F600}'.repeat(2000)]) {
      const note = String(deadLetterKubernetesEvent(event('resync', {}), reason, now)?.note)
      expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024)
      expect(note).not.toContain('\uFFFD')
    }
  })
})

describe('the dead-letter sink', () => {
  const lines: [level: string, message: string, fields: Record<string, unknown>][] = []
  const line = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push([level, message, fields])
  const log: Log = { info: line('info'), warn: line('warn'), error: line('error') }

  const send = async (record?: Parameters<typeof createDeadLetterSink>[0]['record']) => {
    lines.length = 0
    const extensions = { knativeerrordata: Buffer.from('no labels').toString('base64') }
    const { headers, body } = writeEvent(event('resync', {}, { extensions }))
    return (await createDeadLetterSink({ log, record }).request('/', { method: 'POST', headers, body })).status
  }

  test('the dead-letter sink takes an event that cannot be recorded, and says why in the log', async () => {
    expect(await send(() => Promise.reject(new Error('events.events.k8s.io is forbidden')))).toBe(204)
    expect(lines).toMatchObject([
      ['error', 'dead letter', { reason: 'no labels' }],
      ['warn', 'dead letter without an Event', { reason: 'events.events.k8s.io is forbidden' }],
    ])
  })

  test.each<[string, Event]>([
    [
      'a config',
      event('config-changed', {
        config: {
          workload: {
            podSpec: {
              containers: [
                {
                  name: 'web',
                  env: [
                    { name: 'TOKEN', value: 'hush-1' },
                    { name: 'PIN', value: 'hush-2' },
                  ],
                  envConfig: { PASSWORD: 'hush-3' },
                },
              ],
            },
            secrets: { tls: { 'tls.key': 'hush-4' } },
            secretEnv: { PIN: true },
          },
        },
      }),
    ],
    ...(
      [
        ['data', JSON.stringify({ config: { workload: { secrets: { tls: { key: 'hush-6' } } } } })],
        ['data, encoded once more', JSON.stringify('{"secrets":{"tls":"hush-7"}}')],
        ['a workload', { config: { workload: 'secrets: { tls: { key: hush-8 } }' } }],
        ['a pod spec', { config: { workload: { podSpec: 'containers: [{ env: [{ name: PIN, value: hush-9 }] }]' } } }],
        ['variables', { config: { workload: { podSpec: { containers: [{ env: 'DB_PASSWORD=hush-10' }] } } } }],
      ] as const
    ).map(([what, data]): [string, Event] => [`${what} as text`, event('config-changed', {}, { data })]),
    ['a document', fromApiServer('add', document('config', { config: 'workload: { podSpec: { x: hush-5 } }' }))],
  ])('the dead-letter sink leaves what is secret in %s out of the log', async (_, letter) => {
    lines.length = 0
    const { headers, body } = writeEvent(letter)
    await createDeadLetterSink({ log }).request('/', { method: 'POST', headers, body })
    expect(lines).toHaveLength(1)
    expect(JSON.stringify(lines)).not.toContain('hush')
  })

  test('the dead-letter sink records the event with the reason that Knative tells', async () => {
    const recorded: unknown[] = []
    expect(await send(async (letter, reason) => void recorded.push([letter.type, reason]))).toBe(204)
    expect(recorded).toEqual([['dev.meshstep.resync.v1', 'no labels']])
    expect(lines).toHaveLength(1)
  })
})
