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
