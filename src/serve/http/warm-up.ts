import type { Transport } from '../../platform/kubernetes/client.ts'
import { type Kind, type KubernetesObject, pathOf } from '../../platform/kubernetes/objects.ts'
import { createService } from './server.ts'
import { readSettings } from './settings.ts'

const [NAMESPACE, APPLICATION] = ['warm', 'up']

const EVENTS: readonly [type: string, data: object][] = [
  ['config-changed', { config: { policies: [{ type: 'unit', relation: 'db', ports: [5432] }] } }],
  [
    'relation-changed',
    {
      relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
      remote: { application: 'beacon', data: {} },
    },
  ],
  ['pod-restarted', { pod: { name: 'up-0', uid: 'up-0' } }],
  ['resync', {}],
]

/** Takes steps on a simulated cluster, so that a start-up snapshot has parsed schemas and compiled functions for the first event. It keeps nothing else. */
export const warmUp = async (): Promise<void> => {
  const { app, finish } = createService({
    settings: readSettings({}),
    names: [],
    transport: createStandIn(),
    log: { info: ignore, warn: ignore, error: ignore },
    environment: { resolver: '127.0.0.1' },
    // the first UUID would fill a pool of random bytes, which all processes would share
    newId: () => 'warm-up',
  })
  // twice, because a redelivered event takes another path
  for (const [type, data] of EVENTS)
    for (const time of ['first', 'second']) {
      const { status, body } = await app.fetch(
        requestFor(type, { namespace: NAMESPACE, application: APPLICATION, ...data }),
      )
      if (status !== 200)
        throw new Error(`expected ${type}, sent the ${time} time, to be answered 200, got ${status}: ${body}`)
    }
  await finish()
}

const ignore = (): void => undefined

const requestFor = (type: string, data: object): Request => {
  const headers = new Headers({
    'content-type': 'application/json',
    'ce-specversion': '1.0',
    'ce-id': type,
    'ce-source': '/warm-up',
    'ce-type': `dev.meshstep.${type}.v1`,
  })
  const body = [Buffer.from(JSON.stringify(data))]
  return { method: 'POST', url: 'http://localhost/', headers, body } as unknown as Request
}

const KINDS: readonly Kind[] = [
  'ConfigMap',
  'Service',
  'StatefulSet',
  'Deployment',
  'Pod',
  'AuthorizationPolicy',
  'Event',
]

/** A simulated API server with few kinds. It keeps created objects, and begins with a workload and a Service. */
const createStandIn = (): Transport => {
  const objects = new Map<string, KubernetesObject>()
  let version = 0
  const keep = (object: KubernetesObject): KubernetesObject => {
    version += 1
    const { namespace, name } = object.metadata
    const path = pathOf({ kind: object.kind as Kind, namespace, name })
    const kept = { ...object, metadata: { ...object.metadata, uid: path, resourceVersion: `${version}` } }
    objects.set(path, kept)
    return kept
  }
  const list = (path: string): object | undefined => {
    const kind = KINDS.find((one) =>
      [undefined, NAMESPACE].some((namespace) => pathOf({ kind: one, namespace }) === path),
    )
    const items = [...objects.values()].filter((object) => object.kind === kind)
    return kind && { kind: `${kind}List`, metadata: {}, items }
  }
  const metadata = { name: APPLICATION, namespace: NAMESPACE, labels: {} }
  const template = { metadata: { labels: {} }, spec: { containers: [{ name: 'c', image: 'c' }] } }
  keep({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: { replicas: 1, template } })
  keep({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } })
  return async ({ method, path: target, body }) => {
    const [path = ''] = target.split('?')
    const given = body === undefined ? undefined : JSON.parse(body)
    const answer = given?.metadata ? keep({ ...objects.get(path), ...given }) : (objects.get(path) ?? list(path))
    return answer
      ? { status: method === 'POST' ? 201 : 200, headers: {}, body: JSON.stringify(answer) }
      : { status: 404, headers: {}, body: JSON.stringify({ kind: 'Status', metadata: {}, reason: 'NotFound' }) }
  }
}
