import { expect, test } from 'vitest'
import { pendingMessages } from '../../../src/ask/preview/pending-policies.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

const policy: KubernetesObject = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'db', namespace: 'shop', generation: 1 },
  spec: { action: 'DENY', rules: [{}] },
}

const istio = (version: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'istio', namespace: 'istio-system', labels: { 'app.kubernetes.io/version': version } },
  data: { mesh: '' },
})

const PENDING = [expect.stringContaining('Istio has not taken AuthorizationPolicy shop/db yet')]

test.each([
  ['a version that writes conditions, though no object has one', istio('1.29.0'), PENDING],
  ['a version that writes none', istio('1.20.0'), []],
])('the first policy is told as pending by the config of Istio: %s', (_, config, told) => {
  expect(pendingMessages([policy, config], new Set(['shop']))).toEqual(told)
})
