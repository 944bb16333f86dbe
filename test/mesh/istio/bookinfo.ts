import type { AccessRequest, ClusterSnapshot } from '../../../src/ask/authorization/evaluate.ts'
import type { MeshPolicy } from '../../../src/core/policies/models.ts'
import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import { hardenedMode } from '../../../src/mesh/istio/beacon-policies.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { endpoint, meshPolicy, owner, request } from './samples.ts'

/** `productpage` may GET /health and /details/* of `details` on 9080; the beacon's waypoint is `shop-beacon-waypoint`. */
export const detailsPolicy: MeshPolicy = meshPolicy({
  source_app_name: 'productpage',
  target_app_name: 'details',
  endpoints: [endpoint({ ports: [9080], methods: ['GET'], paths: ['/health', '/details/*'] })],
})

export const asked = request(detailsPolicy, 'relation 3 (service-mesh) of shop/details')

export const managed: AuthorizationPolicy[] = authorizationPolicies([asked], owner)

export const hardened: AuthorizationPolicy[] = hardenedMode({ ...owner, application: 'istio' }, 'istio-system')

const waypoint = {
  namespace: 'shop',
  name: 'shop-beacon-waypoint',
  serviceAccount: 'shop-beacon-waypoint',
}

const APPLICATIONS = ['details', 'productpage']

export const world = (
  policies: readonly AuthorizationPolicy[],
  changes: Partial<ClusterSnapshot> = {},
): ClusterSnapshot => ({
  policies,
  rootNamespace: 'istio-system',
  trustDomain: 'cluster.local',
  services: APPLICATIONS.map((name) => ({ namespace: 'shop', name, waypoint })),
  workloads: APPLICATIONS.map((name) => ({
    namespace: 'shop',
    name,
    labels: { 'app.kubernetes.io/name': name },
    onMesh: true,
  })),
  autoAllowWaypoint: true,
  ...changes,
})

/** A policy that somebody else made. */
export const custom = (
  name: string,
  spec: AuthorizationPolicy['spec'],
  metadata: Partial<AuthorizationPolicy['metadata']> = {},
): AuthorizationPolicy => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name, namespace: 'shop', ...metadata },
  spec,
})

export const service = (name: string) => ({ targetRefs: [{ group: '', kind: 'Service', name }] })

export const pods = (name: string) => ({ selector: { matchLabels: { 'app.kubernetes.io/name': name } } })

/** `productpage` sends GET /details/0 to the Service of `details`, but for `changes`. */
export const call = (changes: Partial<AccessRequest> = {}): AccessRequest => ({
  from: { namespace: 'shop', serviceAccount: 'productpage' },
  to: { namespace: 'shop', application: 'details', service: 'details' },
  port: 9080,
  method: 'GET',
  path: '/details/0',
  ...changes,
})
