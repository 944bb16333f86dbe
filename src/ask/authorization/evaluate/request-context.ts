/** The mesh identity of a workload. */
export type Identity = {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
}

/** The trust domain of a mesh, and the other names of it. */
export type TrustDomains = {
  readonly trustDomain: string
  readonly aliases: readonly string[] | 'unknown'
}

/** The request attributes that a proxy sees. Undefined is unknown offline; a client outside the mesh has no identity. */
export type RequestContext = {
  readonly identity?: Identity | undefined
  /** There may be an identity that is not known. */
  readonly isUnknown?: boolean | undefined
  /** The IP address that the connection comes from. */
  readonly address?: string | undefined
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** The content of the connection, where the port declares no protocol. */
  readonly carries?: 'tcp' | undefined
  /** The trust domains of an Envoy, which compares principals and namespaces in its own way; absent at a ztunnel. */
  readonly envoy?: TrustDomains | undefined
}
