import { expect, test } from 'vitest'
import {
  externalTraffic,
  hardenedMode,
  ingressToBackend,
  modeloperatorAllow,
} from '../../../src/mesh/istio/beacon-policies.ts'

const labels = { 'app.kubernetes.io/managed-by': 'meshstep', 'meshstep.dev/application': 'mesh' }
const owner = { namespace: 'shop', application: 'mesh', labels }
const envelope = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' }
const metadata = (name: string, namespace: string) => ({ name, namespace, labels })

test('hardened mode: two objects that match nothing, for every ztunnel and every waypoint', () => {
  const annotations = { 'meshstep.dev/requested-by': 'config of shop/mesh' }
  expect(hardenedMode(owner, 'istio-system')).toEqual([
    {
      ...envelope,
      metadata: { ...metadata('mesh-shop-policy-global-allow-nothing-ztunnel', 'istio-system'), annotations },
      spec: {},
    },
    {
      ...envelope,
      metadata: { ...metadata('mesh-shop-policy-global-allow-nothing-waypoint', 'istio-system'), annotations },
      spec: { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] },
    },
  ])
})

test('the model operator is open to all', () => {
  expect(modeloperatorAllow(owner)).toEqual({
    ...envelope,
    metadata: metadata('mesh-shop-policy-all-sources-modeloperator', 'shop'),
    spec: { selector: { matchLabels: { 'juju-modeloperator': 'modeloperator' } }, rules: [{}] },
  })
})

const gatewayTarget = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'ingress' }

test.each<[string, string[], object]>([
  [
    'sorted and once each',
    ['10.0.0.0/8', '0.0.0.0/0', '10.0.0.0/8'],
    { rules: [{ from: [{ source: { ipBlocks: ['0.0.0.0/0', '10.0.0.0/8'] } }] }] },
  ],
  ['none: nobody, where an empty list would be everybody', [], {}],
])('external traffic from CIDRs: %s', (_, cidrs, rules) => {
  expect(externalTraffic(owner, { gateway: 'ingress', cidrs })).toEqual({
    ...envelope,
    metadata: metadata('mesh-shop-external-traffic', 'shop'),
    spec: { targetRefs: [gatewayTarget], action: 'ALLOW', ...rules },
  })
})

test('the gateway of an ingress to its backend, on the ports that it forwards to', () => {
  const backend = { namespace: 'bank', application: 'web', ports: [8080, 80, 8080] }
  expect(ingressToBackend(owner, backend, 'cluster.local')).toEqual([
    {
      ...envelope,
      metadata: metadata('web-mesh-bank-l4', 'bank'),
      spec: {
        selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } },
        action: 'ALLOW',
        rules: [
          {
            from: [{ source: { principals: ['cluster.local/ns/shop/sa/mesh-istio'] } }],
            to: [{ operation: { ports: ['80', '8080'] } }],
          },
        ],
      },
    },
  ])
})

test('a backend without ports is not opened on all of them', () => {
  expect(ingressToBackend(owner, { namespace: 'bank', application: 'web', ports: [] }, 'cluster.local')).toEqual([])
})

test('the labels of the caller are copied, not kept', () => {
  expect(modeloperatorAllow(owner).metadata.labels).not.toBe(labels)
})
