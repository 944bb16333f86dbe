import { describe, expect, test } from 'vitest'
import { createClient, POLICIES, TYPES } from '../client.ts'

type Body = Record<string, unknown>
type Cause = readonly [field: string, message: string]

const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways'
const CLASSES = '/apis/gateway.networking.k8s.io/v1/gatewayclasses'
const AUTHENTICATIONS = '/apis/security.istio.io/v1/namespaces/default/peerauthentications'

const kinds: Readonly<Record<string, readonly [apiVersion: string, kind: string]>> = {
  [GATEWAYS]: ['gateway.networking.k8s.io/v1', 'Gateway'],
  [CLASSES]: ['gateway.networking.k8s.io/v1', 'GatewayClass'],
  [AUTHENTICATIONS]: ['security.istio.io/v1', 'PeerAuthentication'],
  [POLICIES]: ['security.istio.io/v1', 'AuthorizationPolicy'],
}

const object = (collection: string, spec: Body) => {
  const [apiVersion, kind] = kinds[collection] ?? []
  return { apiVersion, kind, metadata: { name: 'a' }, spec }
}

const http = { name: 'http', port: 80, protocol: 'HTTP' }
const gateway = (...listeners: Body[]): Body => ({ gatewayClassName: 'istio', listeners })

const causesOf = (answer: { details?: { causes?: { field: string; message: string }[] } }): Cause[] =>
  (answer.details?.causes ?? []).map(({ field, message }) => [field, message])

test.each<[what: string, collection: string, spec: Body, causes: Cause[]]>([
  ['a port that is none', GATEWAYS, gateway({ ...http, port: 0 }), [['spec.listeners[0].port', '0: must be >= 1']]],
  ['no listener', GATEWAYS, gateway(), [['spec.listeners', '[]: must NOT have fewer than 1 items']]],
  [
    'a certificate without a protocol for it',
    GATEWAYS,
    gateway({ ...http, tls: { certificateRefs: [{ name: 'a' }] } }),
    [['spec.listeners', "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']"]],
  ],
  ['nothing that it must have', GATEWAYS, {}, [['spec', "must have required property 'gatewayClassName'"]]],
  [
    'a mode that there is not',
    AUTHENTICATIONS,
    { mtls: { mode: 'strict' } },
    [['spec.mtls.mode', '"strict": must be equal to one of the allowed values: UNSET, DISABLE, PERMISSIVE, STRICT']],
  ],
  [
    'a port by name',
    AUTHENTICATIONS,
    { selector: { matchLabels: { a: 'b' } }, portLevelMtls: { http: { mode: 'STRICT' } } },
    [['spec.portLevelMtls', 'port must be between 1-65535']],
  ],
  [
    'a wildcard in a label',
    POLICIES,
    { selector: { matchLabels: { app: 'a*' } } },
    [['spec.selector.matchLabels.app', '"a*": wildcard not allowed in label value match']],
  ],
])('a custom resource is refused with %s', (_, collection, spec, causes) => {
  const { status, object: answer } = createClient().post(collection, object(collection, spec))
  expect(status).toBe(422)
  for (const [field, message] of causes)
    expect(causesOf(answer)).toContainEqual([field, expect.stringContaining(message)])
})

describe('the controller of a GatewayClass', () => {
  const change = (spec: Body) => {
    const client = createClient()
    client.post(CLASSES, object(CLASSES, { controllerName: 'example.org/a' }))
    return client.call('PATCH', `${CLASSES}/a`, { spec }, TYPES.merge)
  }

  test('stays: a rule compares it with the one before', () => {
    const { status, object: answer } = change({ controllerName: 'example.org/b' })
    expect([status, causesOf(answer)]).toEqual([
      422,
      [['spec.controllerName', 'Invalid value: "example.org/b": Value is immutable']],
    ])
  })

  test('may be told again beside other changes', () => {
    expect(change({ controllerName: 'example.org/a', description: 'b' }).status).toBe(200)
  })
})

test('a custom resource is stored with the defaults of its schema, and read with those of its status', () => {
  const tls = { certificateRefs: [{ name: 'a' }] }
  const { status, object: answer } = createClient().post(
    GATEWAYS,
    object(GATEWAYS, gateway(http, { name: 'https', port: 443, protocol: 'HTTPS', tls })),
  )
  const routes = { allowedRoutes: { namespaces: { from: 'Same' } } }
  expect([status, answer.spec.listeners]).toEqual([
    201,
    [
      { ...http, ...routes },
      {
        ...{ name: 'https', port: 443, protocol: 'HTTPS', ...routes },
        tls: { mode: 'Terminate', certificateRefs: [{ group: '', kind: 'Secret', name: 'a' }] },
      },
    ],
  ])
  expect(answer.status.conditions.map(({ type, status: is }: Body) => `${type} ${is}`)).toEqual([
    'Accepted Unknown',
    'Programmed Unknown',
  ])
})

test('a status is checked by its schema too, where other fields are open', () => {
  const client = createClient()
  client.post(POLICIES, object(POLICIES, {}))
  const status = { conditions: [{ type: 'Ready', status: 7 }] }
  const { object: answer } = client.call('PATCH', `${POLICIES}/a/status`, { status }, TYPES.merge)
  expect(causesOf(answer)[0]).toEqual(['status.conditions[0].status', 'Invalid value: 7: must be string'])
})
