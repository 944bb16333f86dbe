import * as z from 'zod'
import { Ports } from '../../core/policies/endpoint.ts'
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
  /** Runs a waypoint; without one nothing enforces hosts, methods and paths. @default true */
  waypoint: z.boolean().optional(),
  /** The number of waypoint pods. @default 1 */
  units: z.int().min(0).max(1_000).optional(),
  /** Puts all of the namespace on the mesh, instead of the related applications. @default false */
  modelOnMesh: z.boolean().optional(),
  /** Grants what related applications ask for; when false, what was granted is removed. @default true */
  manageAuthorizationPolicies: z.boolean().optional(),
  /** Denies whatever no policy allows, in the whole mesh. @default false */
  hardened: z.boolean().optional(),
  /** `audit` writes all that the beacon grants and denies as dry runs. @default that of the application, else enforce */
  enforcement: Enforcement.optional(),
  /** Istio's root namespace: policies in it hold for the whole mesh. @default istio-system */
  rootNamespace: Namespace.optional(),
  /** @default cluster.local */
  trustDomain: TrustDomain.optional(),
  /** Other names of that trust domain, as Istio's `trustDomainAliases`. */
  trustDomainAliases: z.array(TrustDomain).max(16).optional(),
  /** The trust domains of namespaces that have others, such as those of another cluster. */
  trustDomains: z
    .record(
      Namespace,
      z.union([TrustDomain, z.array(TrustDomain).min(1).max(16)], 'expected a trust domain, or a list of them'),
    )
    .optional(),
  /** `whenGranted` guards a target only while someone is granted access; otherwise it is open. @default declared */
  guard: z.enum(['declared', 'whenGranted']).optional(),
  /** Takes over the objects of the charm library, and removes them once ours are applied. @default false */
  adopt: z.boolean().optional(),
  /** Addresses that may reach the application's ingress Gateway from outside; empty admits nobody. @default no policy */
  externalTraffic: z.array(Cidr).optional(),
  /** Applications whose pods the ingress Gateway may reach, on which ports. */
  backends: z
    .array(
      z.strictObject({
        /** @default the application's own */
        namespace: Namespace.optional(),
        application: Application,
        ports: Ports,
      }),
    )
    .optional(),
  /** The extension provider that authorizes what passes the ingress Gateway. */
  externalAuthorizer: z.string().min(1).max(253).optional(),
})
export type MeshConfig = z.infer<typeof MeshConfig>
