import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'

/** Tells if the beacon grants the requests of its relations. */
export const isManaging = ({ manageAuthorizationPolicies }: MeshConfig): boolean =>
  manageAuthorizationPolicies !== false
