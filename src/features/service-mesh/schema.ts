import * as z from 'zod'
import { CustomMeshPolicy } from '../../core/policies/custom-mesh-policy.ts'
import { Policy } from '../../core/policies/models.ts'
import { type PartsOf, part } from '../../core/state/state.ts'
import { Enforcement, MeshConfig, TrustDomain } from '../../mesh/istio/beacon-config.ts'
import { RawPolicy } from '../../mesh/istio/raw-policies.ts'
import { subdomainName } from '../../platform/base/names.ts'

/** The ServiceAccounts of applications that do not run as the one of their own name, by `{namespace}/{application}`. */
const ServiceAccounts = z.record(
  z.string().regex(/^[^/]+\/[^/]+$/, 'expected {namespace}/{application}'),
  subdomainName('a ServiceAccount'),
)

export const serviceMeshConfig = {
  /** Labels to hold besides the mesh's. Each is checked on its own: an invalid one is skipped. */
  labels: z.record(z.string(), z.unknown()).optional(),
  /** Requests to let in related applications. A beacon grants them. */
  policies: z.array(Policy).optional(),
  /** Granted by the application itself, without a beacon. */
  meshPolicies: z.array(CustomMeshPolicy).optional(),
  /** AuthorizationPolicies to hold as they are, besides. */
  rawPolicies: z.array(RawPolicy).optional(),
  /** `audit` writes policies as dry runs: the application's own, and its requests at its beacon. @default enforce */
  enforcement: Enforcement.optional(),
  /** Makes the application a beacon. */
  mesh: MeshConfig.optional(),
  /** The trust domain in this application's own policies. @default that of `mesh`, else cluster.local */
  trustDomain: TrustDomain.optional(),
  serviceAccounts: ServiceAccounts.optional(),
}

export const serviceMeshState = {
  /** Labels written by the charm library, held until they are no longer desired. */
  inherited: part(z.record(z.string(), z.string()).optional(), 'kept', true),
}

type ServiceMeshConfig = z.infer<z.ZodObject<typeof serviceMeshConfig>>
type ServiceMeshState = PartsOf<typeof serviceMeshState>

declare module '../../core/state/config.ts' {
  interface Config extends ServiceMeshConfig {}
}
declare module '../../core/state/state.ts' {
  interface State extends ServiceMeshState {}
}
