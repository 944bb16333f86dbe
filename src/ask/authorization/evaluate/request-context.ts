/** The mesh identity of a workload. */
export type Identity = {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
}

/** The trust domain of a mesh, and its aliases. */
export type TrustDomains = {
  readonly trustDomain: string
  readonly aliases: readonly string[] | 'unknown'
}

/** The request attributes that a proxy sees. An undefined attribute is unknown offline. A client outside the mesh has no identity. */
export type RequestContext = {
  readonly identity?: Identity | undefined
  /** The client may have an identity that is unknown here. */
  readonly isUnknown?: boolean | undefined
  /** The IP address that the connection comes from. */
  readonly address?: string | undefined
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** The content of the connection, if the port declares no protocol. */
  readonly carries?: 'tcp' | undefined
  /** The trust domains that an Envoy compares principals and namespaces with. Absent at a ztunnel. */
  readonly envoy?: TrustDomains | undefined
}
