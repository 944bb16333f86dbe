import { describe, expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { isApplied, isHeld } from '../../../src/platform/kubernetes/applied.ts'
import { type Kind, type KubernetesObject, pathOf } from '../../../src/platform/kubernetes/objects.ts'

const MANAGER = 'meshstep/web'

const object = (
  kind: Kind,
  apiVersion: string,
  content: Record<string, unknown>,
  metadata: object = {},
): KubernetesObject => ({
  apiVersion,
  kind,
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  ...content,
})

const POLICY = object(
  'AuthorizationPolicy',
  'security.istio.io/v1',
  {
    spec: {
      selector: { matchLabels: { app: 'web' } },
      action: 'ALLOW',
      rules: [{ from: [{ source: { principals: ['a', 'b'] } }] }],
    },
  },
  { labels: { owner: 'us' }, annotations: { why: 'test' } },
)

const CONTAINER = { name: 'web', image: 'web:1', env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }] }

const DEPLOYMENT = object('Deployment', 'apps/v1', {
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [CONTAINER, { name: 'side', image: 'side:1' }] },
    },
  },
})

const DNS = [
  { name: 'tcp', port: 53 },
  { name: 'udp', port: 53, protocol: 'UDP' },
]

const SERVICE = object('Service', 'v1', { spec: { selector: { app: 'web' }, ports: DNS } })

const LISTENER = { name: 'mesh', port: 15_008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } }

const GATEWAY = object('Gateway', 'gateway.networking.k8s.io/v1', {
  spec: {
    gatewayClassName: 'istio-waypoint',
    listeners: [LISTENER],
  },
})

const AUTOSCALER = object('HorizontalPodAutoscaler', 'autoscaling/v2', {
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, minReplicas: 2, maxReplicas: 2 },
})

const CONFIG = object('ConfigMap', 'v1', { data: { a: '1', b: '2' } }, { finalizers: ['x/one', 'x/two'] })
const withFinalizers = (...finalizers: readonly string[]): KubernetesObject => ({
  ...CONFIG,
  metadata: { ...CONFIG.metadata, finalizers },
})

const EMPTY = object('AuthorizationPolicy', 'security.istio.io/v1', { spec: {} })

const ALL = { POLICY, DEPLOYMENT, SERVICE, GATEWAY, AUTOSCALER, CONFIG, EMPTY }

type Patch = Record<string, unknown>

/** The object as a server has it, once `manager` has applied `desired`, and somebody else patched it. */
const serverWith = (desired: KubernetesObject, patches: readonly Patch[] = [], manager = MANAGER) => {
  const api = createEmbeddedApi()
  api.seed([object('ConfigMap', 'v1', {}, { name: 'any' })])
  const path = pathOf({ kind: desired.kind as Kind, ...desired.metadata })
  const patch = (query: string, type: string, body: Patch): KubernetesObject => {
    const headers = { 'content-type': type }
    const answer = api.handle({ method: 'PATCH', path: `${path}?${query}`, headers, body: JSON.stringify(body) })
    if (answer.status >= 300) throw new Error(answer.body)
    return JSON.parse(answer.body)
  }
  const applied = patch(`fieldManager=${encodeURIComponent(manager)}`, 'application/apply-patch+yaml', desired)
  return patches.reduce<KubernetesObject>(
    (_, body) => patch('fieldManager=kubectl', 'application/merge-patch+json', body),
    applied,
  )
}

const withSpec = (desired: KubernetesObject, changes: Record<string, unknown>): KubernetesObject => ({
  ...desired,
  spec: { ...desired.spec, ...changes },
})

const withContainers = (containers: readonly Patch[]): KubernetesObject =>
  withSpec(DEPLOYMENT, { template: { metadata: { labels: { app: 'web' } }, spec: { containers } } })

describe('an apply that would change something', () => {
  test.each<[string, KubernetesObject, KubernetesObject]>([
    ['another value', POLICY, withSpec(POLICY, { action: 'DENY' })],
    ['another key of a map', POLICY, withSpec(POLICY, { selector: { matchLabels: { team: 'web' } } })],
    ['one more key of a map', POLICY, withSpec(POLICY, { selector: { matchLabels: { app: 'web', team: 'a' } } })],
    [
      'another order in a list that is one value',
      POLICY,
      withSpec(POLICY, { rules: [{ from: [{ source: { principals: ['b', 'a'] } }] }] }),
    ],
    ['a field that is not there any more', POLICY, withSpec(POLICY, { rules: undefined })],
    ['an empty spec', POLICY, { ...POLICY, spec: {} }],
    ['a spec where there was an empty one', EMPTY, { ...EMPTY, spec: { rules: [{}] } }],
    ['no label any more', POLICY, { ...POLICY, metadata: { ...POLICY.metadata, labels: {} } }],
    [
      'no labels any more',
      POLICY,
      { ...POLICY, metadata: { name: 'web', namespace: 'shop', annotations: { why: 'test' } } },
    ],
    ['another annotation', POLICY, { ...POLICY, metadata: { ...POLICY.metadata, annotations: { why: 'else' } } }],
    ['another port', SERVICE, withSpec(SERVICE, { ports: [{ name: 'tcp', port: 54 }, DNS[1]] })],
    ['a port less', SERVICE, withSpec(SERVICE, { ports: [DNS[0]] })],
    ['a port more', SERVICE, withSpec(SERVICE, { ports: [...DNS, { name: 'web', port: 80 }] })],
    ['another name of a port', SERVICE, withSpec(SERVICE, { ports: [DNS[0], { ...DNS[1], name: 'other' }] })],
    ['ports in another order', SERVICE, withSpec(SERVICE, { ports: DNS.toReversed() })],
    ['another selector of a Service', SERVICE, withSpec(SERVICE, { selector: { app: 'other' } })],
    [
      'another protocol of a listener',
      GATEWAY,
      withSpec(GATEWAY, { listeners: [{ name: 'mesh', port: 15_008, protocol: 'TCP' }] }),
    ],
    ['another number of pods', AUTOSCALER, withSpec(AUTOSCALER, { maxReplicas: 3 })],
    ['another item of a set', CONFIG, withFinalizers('x/one', 'x/three')],
    ['an item of a set less', CONFIG, withFinalizers('x/one')],
    ['another value in data', CONFIG, { ...CONFIG, data: { a: '1', b: '3' } }],
    [
      'an image',
      DEPLOYMENT,
      withContainers([
        { ...CONTAINER, image: 'web:2' },
        { name: 'side', image: 'side:1' },
      ]),
    ],
    [
      'a variable',
      DEPLOYMENT,
      withContainers([
        { ...CONTAINER, env: [{ name: 'A', value: '2' }] },
        { name: 'side', image: 'side:1' },
      ]),
    ],
    ['a container less', DEPLOYMENT, withContainers([CONTAINER])],
  ])('%s', (_, applied, desired) => {
    expect(isApplied(serverWith(applied), desired, MANAGER)).toBe(false)
  })

  test.each<[string, KubernetesObject, Patch]>([
    ['a value', POLICY, { spec: { action: 'DENY' } }],
    ['a list', POLICY, { spec: { rules: [{}] } }],
    ['a key', POLICY, { spec: { selector: { matchLabels: { app: null } } } }],
    ['a label', POLICY, { metadata: { labels: { owner: 'them' } } }],
    ['all labels', POLICY, { metadata: { labels: null } }],
    ['a number of pods', AUTOSCALER, { spec: { minReplicas: 1 } }],
    ['a listener', GATEWAY, { spec: { listeners: [{ name: 'mesh', port: 1, protocol: 'TCP' }] } }],
    ['what was empty', EMPTY, { spec: { rules: [{}] } }],
  ])('an apply would change something as somebody has changed %s', (_, applied, patch) => {
    expect(isApplied(serverWith(applied, [patch]), applied, MANAGER)).toBe(false)
  })

  const withEmpties = object('Deployment', 'apps/v1', {
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations: {} },
        spec: {
          ...{ nodeSelector: {}, tolerations: [], volumes: [{ name: 'v', emptyDir: {} }] },
          containers: [{ name: 'web', image: 'web:1', env: [], args: [] }],
        },
      },
    },
  })

  test('an apply would change nothing where the API server has dropped empty lists and maps', () => {
    const stored = serverWith(withEmpties)
    expect(stored.spec).not.toHaveProperty('template.spec.containers.0.env')
    expect(isApplied(stored, withEmpties, MANAGER)).toBe(true)
    const volumes = [{ name: 'v', emptyDir: null, configMap: { name: 'x' } }]
    const replaced = serverWith(withEmpties, [{ spec: { template: { spec: { volumes } } } }])
    expect(isApplied(replaced, withEmpties, MANAGER)).toBe(false)
  })

  // as Kubernetes 1.36 stores it: without most zero values, and quantities in its own form
  const zeros = object('Deployment', 'apps/v1', {
    spec: {
      paused: false,
      template: {
        spec: {
          ...{ hostNetwork: false, serviceAccountName: '', automountServiceAccountToken: false },
          containers: [{ name: 'web', command: null, env: [{ name: 'A', value: '' }], tty: false }],
        },
      },
    },
  })
  const stored = (changes: object = {}): KubernetesObject => ({
    ...zeros,
    metadata: {
      ...zeros.metadata,
      managedFields: [
        {
          ...{ manager: MANAGER, operation: 'Apply' },
          fieldsV1: {
            'f:spec': {
              'f:paused': {},
              'f:template': {
                'f:spec': {
                  ...{ 'f:hostNetwork': {}, 'f:serviceAccountName': {}, 'f:automountServiceAccountToken': {} },
                  'f:containers': {
                    'k:{"name":"web"}': {
                      ...{ '.': {}, 'f:name': {}, 'f:tty': {} },
                      'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
                    },
                  },
                  ...changes,
                },
              },
            },
          },
        },
      ],
    },
    spec: {
      template: { spec: { automountServiceAccountToken: false, containers: [{ name: 'web', env: [{ name: 'A' }] }] } },
    },
  })

  test('an apply would change nothing where the API server stores no zero values', () => {
    expect(isApplied(stored(), zeros, MANAGER)).toBe(true)
    expect(isHeld(stored(), zeros, MANAGER)).toBe(true)
  })

  test('fields are held by their manager until somebody takes one, whatever form their values are stored in', () => {
    const limits = { cpu: '1000m', memory: '1024Mi' }
    const desired = withContainers([{ ...CONTAINER, resources: { limits } }])
    const server = (patches: Patch[] = []) => serverWith(desired, patches)
    const others = [{ ...CONTAINER, image: 'web:2', resources: { limits } }]
    expect(isApplied(server(), desired, MANAGER)).toBe(false)
    expect(isHeld(server(), desired, MANAGER)).toBe(true)
    expect(isHeld(server([{ spec: { template: { spec: { containers: others } } } }]), desired, MANAGER)).toBe(false)
    expect(isHeld(server([{ spec: { template: { spec: { containers: [] } } } }]), desired, MANAGER)).toBe(false)
    expect(isHeld(desired, desired, MANAGER)).toBe(false)
    expect(isHeld(server(), withContainers([...others, { name: 'side', image: 'side:1' }]), MANAGER)).toBe(false)
  })

  test('an apply would change something as somebody else applied it', () => {
    expect(isApplied(serverWith(POLICY, [], 'kubectl'), POLICY, MANAGER)).toBe(false)
  })

  test('an apply would change something as nobody is known to have applied it', () => {
    expect(isApplied(POLICY, POLICY, MANAGER)).toBe(false)
  })
})

describe('an apply that would change nothing', () => {
  test.each(Object.entries(ALL))('the same %s again', (_, desired) => {
    expect(isApplied(serverWith(desired), desired, MANAGER)).toBe(true)
  })

  test.each<[string, KubernetesObject, KubernetesObject]>([
    ['keys of a map in another order', CONFIG, { ...CONFIG, data: { b: '2', a: '1' } }],
    ['undefined fields', POLICY, withSpec(POLICY, { provider: undefined })],
  ])('%s', (_, applied, desired) => {
    expect(isApplied(serverWith(applied), desired, MANAGER)).toBe(true)
  })

  test.each<[string, KubernetesObject, Patch]>([
    ['a label', POLICY, { metadata: { labels: { team: 'red' } } }],
    ['a field', POLICY, { spec: { provider: { name: 'x' } } }],
    ['a key of a map', POLICY, { spec: { selector: { matchLabels: { version: 'v1' } } } }],
    ['a field of an item', GATEWAY, { spec: { listeners: [{ ...LISTENER, hostname: 'a.b' }] } }],
    ['an item', GATEWAY, { spec: { listeners: [LISTENER, { name: 'more', port: 1, protocol: 'TCP' }] } }],
    ['a status', GATEWAY, { status: { conditions: [] } }],
  ])('somebody has added %s', (_, applied, patch) => {
    expect(isApplied(serverWith(applied, [patch]), applied, MANAGER)).toBe(true)
  })
})
