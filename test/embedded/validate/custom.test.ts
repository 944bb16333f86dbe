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

const unchecked: Cause = [
  '<nil>',
  'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
]

test.each<[what: string, collection: string, spec: Body, causes: Cause[]]>([
  [
    'a port that is none',
    GATEWAYS,
    gateway({ ...http, port: 0 }),
    [
      [
        'spec.listeners[0].port',
        'Invalid value: 0: spec.listeners[0].port in body should be greater than or equal to 1',
      ],
    ],
  ],
  [
    'no listener',
    GATEWAYS,
    gateway(),
    [['spec.listeners', 'Invalid value: 0: spec.listeners in body should have at least 1 items']],
  ],
  [
    'two listeners of one name',
    GATEWAYS,
    gateway(http, { ...http, port: 81 }),
    [
      ['spec.listeners[1]', 'Duplicate value: {"name":"http"}'],
      ['spec.listeners', 'Invalid value: Listener name must be unique within the Gateway'],
    ],
  ],
  [
    'more labels than eight',
    GATEWAYS,
    {
      ...gateway(http),
      infrastructure: { labels: Object.fromEntries([...'abcdefghi'].map((key) => [key, 'x'])) },
    },
    [['spec.infrastructure.labels', 'Too many: 9: must have at most 8 items'], unchecked],
  ],
  [
    'a certificate without a protocol for it',
    GATEWAYS,
    gateway({ ...http, tls: { certificateRefs: [{ name: 'a' }] } }),
    [['spec.listeners', "Invalid value: tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']"]],
  ],
  [
    'passing through of what is to be ended here',
    GATEWAYS,
    gateway({ ...http, protocol: 'HTTPS', tls: { mode: 'Passthrough' } }),
    [['spec.listeners', 'Invalid value: tls mode must be Terminate for protocol HTTPS']],
  ],
  [
    'an end of TLS without a certificate',
    GATEWAYS,
    gateway({ ...http, protocol: 'HTTPS', tls: {} }),
    [['spec.listeners[0].tls', 'Invalid value: certificateRefs or options must be specified when mode is Terminate']],
  ],
  [
    'an address that is neither of IPv4 nor of IPv6',
    GATEWAYS,
    { ...gateway(http), addresses: [{ value: 'x' }] },
    [
      [
        'spec.addresses[0]',
        'Invalid value: {"type":"IPAddress","value":"x"}: spec.addresses[0] in body must validate one and only one schema (oneOf). Found none valid',
      ],
    ],
  ],
  [
    'nothing that it must have',
    GATEWAYS,
    {},
    [['spec.gatewayClassName', 'Required value'], ['spec.listeners', 'Required value'], unchecked],
  ],
  [
    'a mode that there is not',
    AUTHENTICATIONS,
    { mtls: { mode: 'strict' } },
    [
      ['spec.mtls.mode', 'Unsupported value: "strict": supported values: "UNSET", "DISABLE", "PERMISSIVE", "STRICT"'],
      unchecked,
    ],
  ],
  [
    'a port by name',
    AUTHENTICATIONS,
    { selector: { matchLabels: { a: 'b' } }, portLevelMtls: { http: { mode: 'STRICT' } } },
    [['spec.portLevelMtls', 'Invalid value: port must be between 1-65535']],
  ],
  [
    'a wildcard in a label',
    POLICIES,
    { selector: { matchLabels: { app: 'a*' } } },
    [['spec.selector.matchLabels[app]', 'Invalid value: "a*": wildcard not allowed in label value match']],
  ],
])('a custom resource is refused with %s', (_, collection, spec, causes) => {
  const { status, object: answer } = createClient().post(collection, object(collection, spec))
  expect([status, causesOf(answer)]).toEqual([422, causes])
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
  expect(causesOf(answer)[0]).toEqual([
    'status.conditions[0].status',
    'Invalid value: "integer": status.conditions[0].status in body must be of type string: "integer"',
  ])
})
