import { expect, test } from 'vitest'
import { waypointDeployment, waypointObjects, waypointProblem } from '../../../src/mesh/istio/waypoint.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { validators } from '../../knative/crd-schema.ts'

const SUBJECT = { namespace: 'shop', application: 'beacon' }

const deployment = (status: Record<string, unknown> | undefined): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'w' },
  ...(status && { status }),
})

test.each<[string, number | undefined, KubernetesObject | undefined, string | undefined]>([
  ['is not there', undefined, undefined, 'does not exist'],
  ['says nothing of itself', undefined, deployment(undefined), '0 of 1 pods'],
  ['has no pods', undefined, deployment({}), '0 of 1 pods'],
  ['has pods that are not ready', undefined, deployment({ replicas: 1 }), '0 of 1 pods'],
  ['has one of three pods', 3, deployment({ replicas: 1, readyReplicas: 1 }), '1 of 3 pods'],
  ['has pods that come yet', 1, deployment({ replicas: 2, readyReplicas: 1 }), '1 of 2 pods'],
  ['has all of its pods', undefined, deployment({ replicas: 1, readyReplicas: 1 }), undefined],
  ['has more pods than it needs', 1, deployment({ replicas: 2, readyReplicas: 2 }), undefined],
])('a waypoint that %s', (_, units, found, problem) => {
  const said = waypointProblem('Deployment shop/w', units === undefined ? {} : { units }, found)
  expect(said).toEqual(problem === undefined ? undefined : expect.stringContaining(problem))
})

test.each([{ waypoint: false }, { units: 0 }])('there is none with %j', (mesh) => {
  expect([waypointObjects(SUBJECT, mesh, {}), waypointDeployment(SUBJECT, mesh)]).toEqual([[], []])
})

test('the schema of the CRD takes the Gateway of a waypoint', () => {
  const validate = validators.get('gateway.networking.k8s.io/v1 Gateway')
  const [gateway] = waypointObjects(SUBJECT, { units: 3 }, { 'meshstep.dev/application': 'beacon' })
  expect([validate?.(gateway), validate?.errors]).toEqual([true, null])
  expect(validate?.({ ...gateway, spec: { listeners: [] } })).toBe(false)
})
