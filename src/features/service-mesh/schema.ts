import * as z from 'zod'
import { Policies } from '../../core/policies/models.ts'
import { type PartsOf, part } from '../../core/state/state.ts'
import { Enforcement, MeshConfig, TrustDomain } from '../../mesh/istio/beacon-config.ts'
import { RawPolicy } from '../../mesh/istio/raw-policies.ts'
import { subdomainName } from '../../platform/base/names.ts'
import { CustomMeshPolicy } from './custom-mesh-policy.ts'

/** The ServiceAccounts of applications that do not run as the account of their own name, by `{namespace}/{application}`. */
const ServiceAccounts = z.record(
  z.string().regex(/^[^/]+\/[^/]+$/, 'expected {namespace}/{application}'),
  subdomainName('a ServiceAccount'),
)

export const serviceMeshConfig = {
  labels: z.record(z.string(), z.unknown()).optional(),
  policies: Policies.optional(),
  meshPolicies: z.array(CustomMeshPolicy).optional(),
  rawPolicies: z.array(RawPolicy).optional(),
  enforcement: Enforcement.optional(),
  mesh: MeshConfig.optional(),
  trustDomain: TrustDomain.optional(),
  serviceAccounts: ServiceAccounts.optional(),
}

export const serviceMeshState = {
  /** Labels of the charm library. They stay until they are no longer desired. */
  libraryLabels: part(z.record(z.string(), z.string()).optional(), 'kept', true),
}

type ServiceMeshConfig = z.infer<z.ZodObject<typeof serviceMeshConfig>>
type ServiceMeshState = PartsOf<typeof serviceMeshState>

declare module '../../core/state/config.ts' {
  interface Config extends ServiceMeshConfig {}
}
declare module '../../core/state/state.ts' {
  interface State extends ServiceMeshState {}
}
