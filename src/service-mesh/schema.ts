import * as z from 'zod'
import { subdomainName } from '../base/names.ts'
import { Enforcement, MeshConfig, TrustDomain } from '../istio/beacon-config.ts'
import { RawPolicy } from '../istio/raw-policies.ts'
import { CustomMeshPolicy } from '../policies/custom-mesh-policy.ts'
import { Policy } from '../policies/models.ts'
import { type PartsOf, part } from '../state/state.ts'

/** The ServiceAccounts of applications that do not run as the one of their own name, by `{namespace}/{application}`. */
const ServiceAccounts = z.record(
  z.string().regex(/^[^/]+\/[^/]+$/, 'expected {namespace}/{application}'),
  subdomainName('a ServiceAccount'),
)

export const serviceMeshConfig = {
  labels: z.record(z.string(), z.unknown()).optional(),
  policies: z.array(Policy).optional(),
  meshPolicies: z.array(CustomMeshPolicy).optional(),
  rawPolicies: z.array(RawPolicy).optional(),
  enforcement: Enforcement.optional(),
  mesh: MeshConfig.optional(),
  trustDomain: TrustDomain.optional(),
  serviceAccounts: ServiceAccounts.optional(),
}

export const serviceMeshState = {
  /** Labels written by the charm library, held until they are no longer desired. */
  inherited: part(z.record(z.string(), z.string()).optional(), 'kept', true),
}

type ServiceMeshConfig = z.infer<z.ZodObject<typeof serviceMeshConfig>>
type ServiceMeshState = PartsOf<typeof serviceMeshState>

declare module '../state/config.ts' {
  interface Config extends ServiceMeshConfig {}
}
declare module '../state/state.ts' {
  interface State extends ServiceMeshState {}
}
