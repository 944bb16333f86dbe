/** Who a workload is on the mesh. */
export type Identity = {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
}

/** What a proxy knows of a request. What is undefined is not known offline; a client outside the mesh has no identity. */
export type RequestContext = {
  readonly identity?: Identity | undefined
  /** The IP address that the connection comes from. */
  readonly address?: string | undefined
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** Set at an Envoy, which compares principals and namespaces in a way of its own: the trust domain that it belongs to. */
  readonly envoy?: { readonly trustDomain: string } | undefined
}
