import * as z from 'zod'
import { Ports } from '../../core/policies/endpoint.ts'
import { RELATED } from '../../core/policies/models.ts'
import { Application, Namespace } from '../../platform/base/names.ts'

const Cidr = z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], 'expected an address or a CIDR, like 10.0.0.0/8')

export const TrustDomain = z
  .string()
  .max(255)
  .regex(/^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$/, 'expected a trust domain, like cluster.local')

/** The enforcement mode: `audit` writes dry runs, which proxies only log. */
export const Enforcement = z.enum(['audit', 'enforce'], 'expected audit or enforce')

/** The beacon's config: it runs the mesh for the applications related to it. */
export const MeshConfig = z.strictObject({
  type: z.literal('istio').optional(),
  waypoint: z.boolean().optional(),
  units: z.int().min(0).max(1_000).optional(),
  modelOnMesh: z.boolean().optional(),
  manageAuthorizationPolicies: z.boolean().optional(),
  hardened: z.boolean().optional(),
  enforcement: Enforcement.optional(),
  rootNamespace: Namespace.optional(),
  trustDomain: TrustDomain.optional(),
  trustDomainAliases: z.array(TrustDomain).max(16).optional(),
  trustDomains: z
    .record(
      Namespace,
      z.union([TrustDomain, z.array(TrustDomain).min(1).max(16)], 'expected a trust domain, or a list of them'),
    )
    .optional(),
  policies: z.literal(RELATED, `expected ${RELATED}`).optional(),
  guard: z.enum(['declared', 'whenGranted']).optional(),
  adopt: z.boolean().optional(),
  externalTraffic: z.array(Cidr).optional(),
  backends: z
    .array(
      z.strictObject({
        namespace: Namespace.optional(),
        application: Application,
        ports: Ports,
      }),
    )
    .optional(),
  externalAuthorizer: z.string().min(1).max(253).optional(),
})
export type MeshConfig = z.infer<typeof MeshConfig>

/** Tells if the beacon grants the requests of its relations. */
export const isManaging = ({ manageAuthorizationPolicies }: MeshConfig): boolean =>
  manageAuthorizationPolicies !== false
