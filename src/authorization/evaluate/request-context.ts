/** The mesh identity of a workload. */
export type Identity = {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
}

/** The request attributes that a proxy sees. Undefined is unknown offline; a client outside the mesh has no identity. */
export type RequestContext = {
  readonly identity?: Identity | undefined
  /** The IP address that the connection comes from. */
  readonly address?: string | undefined
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** The trust domain of an Envoy, which compares principals and namespaces in its own way; absent at a ztunnel. */
  readonly envoy?: { readonly trustDomain: string } | undefined
}
