import { describe, expect, test } from 'vitest'
import { failureOf } from '../../../src/cli/plan.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createPlace } from './planned.ts'

const object = (apiVersion: string, kind: string, more: Partial<KubernetesObject> = {}): KubernetesObject => ({
  ...{ apiVersion, kind, metadata: { name: 'x', namespace: 'shop' } },
  ...more,
})

const planOf = async (objects: KubernetesObject[], namespace?: string, isDeletion = false) =>
  await createPlace(['db']).preview({ events: [], objects, expectations: [] }, { namespace, isDeletion })

const CLOSED = { spec: { selector: { matchLabels: { 'app.kubernetes.io/name': 'db' } }, action: 'DENY', rules: [{}] } }

describe('a document without a namespace', () => {
  const nowhere = object('security.istio.io/v1', 'AuthorizationPolicy', { metadata: { name: 'x' }, ...CLOSED })

  test('a document without a namespace is planned in the one that is said', async () => {
    const plan = await planOf([nowhere], 'shop')
    expect(plan.objects).toMatchObject([{ object: 'AuthorizationPolicy shop/x', change: 'created' }])
  })

  test('a document without a namespace is refused in a sentence where none is said, whoever asks', async () => {
    await expect(planOf([nowhere])).rejects.toThrow('AuthorizationPolicy x: expected metadata.namespace')
  })

  test('a document without a namespace stays without one where its kind has none', async () => {
    const { objects } = await planOf([object('v1', 'Namespace', { metadata: { name: 'new' } })], 'shop')
    expect(objects.map((one) => one.object)).toEqual(['Namespace new'])
  })
})

describe('a document that a cluster takes', () => {
  test.each([
    ['security.istio.io/v1beta1', 'AuthorizationPolicy', CLOSED],
    [
      'gateway.networking.k8s.io/v1beta1',
      'Gateway',
      { spec: { gatewayClassName: 'istio', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] } },
    ],
  ])(
    'a document that a cluster takes is planned in whichever version of its group it is: %s %s',
    async (apiVersion, kind, more) => {
      const plan = await planOf([object(apiVersion, kind, more)])
      expect(plan.objects).toMatchObject([{ object: `${kind} shop/x`, change: 'created' }])
    },
  )

  test.each([
    ['networking.istio.io/v1', 'Gateway'],
    ['serving.knative.dev/v1', 'Service'],
    ['batch/v1', 'CronJob'],
    ['apps/v1', 'DaemonSet'],
    ['v1', 'Endpoints'],
    ['networking.istio.io/v1', 'ServiceEntry'],
    ['monitoring.coreos.com/v1', 'Prometheus'],
    ['acme.cert-manager.io/v1', 'Challenge'],
    ['authorization.k8s.io/v1', 'SubjectAccessReview'],
    ['gateway.networking.k8s.io/v1', 'GatewayClass'],
  ])(
    'a document that a cluster takes is not compared, and that is said, where its kind may decide: %s %s',
    async (apiVersion, kind) => {
      const plan = await planOf([object(apiVersion, kind)])
      expect(plan.objects).toEqual([])
      expect(plan.incomplete).toEqual([
        `whether access changes by ${kind} shop/x is not known: a plan follows no objects of ${apiVersion}, kind ${kind}`,
      ])
      expect(failureOf(plan, 'lose')?.code).toBe(3)
    },
  )

  test.each([
    ['v1', 'PersistentVolumeClaim'],
    ['rbac.authorization.k8s.io/v1', 'Role'],
    ['autoscaling/v1', 'HorizontalPodAutoscaler'],
    ['monitoring.coreos.com/v1', 'ServiceMonitor'],
  ])(
    'a document that a cluster takes is named, and no more, where its kind decides nothing: %s %s',
    async (apiVersion, kind) => {
      for (const isDeletion of [false, true]) {
        const plan = await planOf([object(apiVersion, kind)], undefined, isDeletion)
        expect(plan).toMatchObject({ objects: [], incomplete: [] })
        expect(plan.messages).toEqual([
          `${kind} shop/x is not planned: no access depends on objects of ${apiVersion}, kind ${kind}`,
        ])
        expect(failureOf(plan, 'lose')).toBeUndefined()
      }
    },
  )
})

describe('a CustomResourceDefinition', () => {
  const definition = (group: string, kind: string) =>
    object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', { spec: { group, names: { kind } } })

  test.each([
    ['security.istio.io', 'AuthorizationPolicy'],
    ['gateway.networking.k8s.io', 'Gateway'],
    ['example.com', 'Widget'],
  ])('takes its objects with it, which may decide: %s %s', async (group, kind) => {
    const plan = await planOf([definition(group, kind)], undefined, true)
    expect(plan.incomplete).toEqual([
      expect.stringContaining('whether access changes by CustomResourceDefinition shop/x is not known'),
    ])
    expect((await planOf([definition(group, kind)])).incomplete).toEqual([])
  })

  test('whose objects decide nothing decides nothing', async () => {
    expect(await planOf([definition('cert-manager.io', 'Issuer')], undefined, true)).toMatchObject({ incomplete: [] })
  })
})

describe('a document that cannot be planned is named with the reason, and the others are planned:', () => {
  const policy = object('security.istio.io/v1', 'AuthorizationPolicy', CLOSED)
  const named = (kind: string, name: string, more: Partial<KubernetesObject> = {}) =>
    object('v1', kind, { metadata: { name, namespace: 'shop' }, ...more })

  test.each<[string, KubernetesObject, string | RegExp]>([
    [
      'one of a kind that a plan does not follow',
      object('networking.istio.io/v1', 'ServiceEntry'),
      'ServiceEntry shop/x',
    ],
    [
      'one that the API server refuses',
      named('Service', 'y', { spec: { ports: [{ port: 'many' }] } }),
      'Service shop/y is not planned',
    ],
    [
      'a policy that Istio refuses',
      object('security.istio.io/v1', 'AuthorizationPolicy', {
        metadata: { name: 'y', namespace: 'shop' },
        spec: { action: 'DENY' },
      }),
      /^AuthorizationPolicy shop\/y is not planned: spec.* \(Istio refuses it\)$/,
    ],
    [
      'one in a namespace that does not exist',
      object('v1', 'Service', { metadata: { name: 'y', namespace: 'nowhere' }, spec: { ports: [{ port: 80 }] } }),
      'Service nowhere/y is not planned: TRY Service nowhere/y: 404 namespaces "nowhere" not found',
    ],
    [
      'a config that its function refuses',
      named('ConfigMap', 'y', {
        metadata: { name: 'y', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } },
        data: { application: 'db', config: 'polices: []' },
      }),
      'ConfigMap shop/y is not planned: data.config',
    ],
  ])('%s', async (_, bad, reason) => {
    const plan = await planOf([bad, policy])
    expect(plan.objects).toContainEqual(expect.objectContaining({ object: 'AuthorizationPolicy shop/x' }))
    expect(plan.incomplete).toEqual([expect.stringMatching(reason)])
    expect(failureOf({ ...plan, access: [] }, 'lose')?.code).toBe(3)
  })

  test('one that is to be deleted, and does not exist', async () => {
    const plan = await planOf([object('v1', 'Service')], undefined, true)
    expect(plan.incomplete).toEqual(['Service shop/x is not planned: it does not exist'])
  })

  test('one of a kind that the cluster does not serve', async () => {
    const place = createPlace(['db'])
    const without = createPlace([], {
      intercept: async (request) =>
        request.path.includes('gateway.networking.k8s.io')
          ? { status: 404, headers: {}, body: '404 page not found\n' }
          : place.api.handle(request),
    })
    const gateway = object('gateway.networking.k8s.io/v1', 'Gateway', {
      spec: { gatewayClassName: 'istio', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] },
    })
    const plan = await without.plan({ objects: [gateway, policy] })
    expect(plan.objects).toMatchObject([{ object: 'AuthorizationPolicy shop/x', change: 'created' }])
    expect(plan.incomplete).toContainEqual(
      expect.stringContaining('the cluster serves no objects of gateway.networking.k8s.io/v1, kind Gateway'),
    )
  })

  test('one outside of namespaces is named without one', async () => {
    const plan = await planOf([object('example.com/v1', 'Tenant', { metadata: { name: 'x' } })], 'shop')
    expect(plan.incomplete).toEqual([expect.stringContaining('whether access changes by Tenant x is not known')])
  })
})

test('a Service that selects no pods gives nobody access to pods', async () => {
  const service = object('v1', 'Service', { spec: { selector: { app: 'none' }, ports: [{ port: 80 }] } })
  const { access } = await planOf([service])
  expect(access.filter(({ via }) => via === 'pod')).toEqual([])
})
