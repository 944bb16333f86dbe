export type NodeKind = 'beacon' | 'mesh' | 'off'

/** A box around a namespace, or around a group within one, by its upper left corner. */
export type Frame = {
  readonly id: string
  readonly kind: 'namespace' | 'group'
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export type MapNode = {
  readonly namespace: string
  readonly application: string
  readonly id: string
  readonly kind: NodeKind
  /** Anybody may reach it, as nothing says who may. Absent where that is not known. */
  readonly access?: 'open' | 'guarded'
  /** Juju's, or `unreadable`, or `unknown`, or `untold`: a workload that no event came for. */
  readonly status: string
  readonly message: string
  /** A few words: where it is, who may reach it, and its marks. */
  readonly caption: string
  /** Things to know at a glance: `hardened`, `audit`, `waiting`, `conflict`. */
  readonly marks: readonly string[]
  /** The beacon's waypoint, and of an application the one that it uses. */
  readonly waypoint?: string
  /** Of its Service. */
  readonly ports: readonly number[]
  /** The coordinator of its cluster. */
  readonly group?: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export type MapEdge = {
  readonly id: string
  readonly from: string
  readonly to: string
  /** `allowed` by policies; `open`, as the target is; `none`: related, and nothing passes. */
  readonly access: 'allowed' | 'open' | 'none'
  readonly isTelemetry: boolean
  /** `:9080 GET /details/*`, a line for each port. */
  readonly label: string
  /** One request of those. */
  readonly sample?: { readonly port: number; readonly method?: string; readonly path?: string }
  readonly relations: readonly { readonly id: number; readonly label: string; readonly interface: string }[]
}

/** The applications of namespaces with the traffic that is allowed between them, placed to be drawn. All of it is JSON. */
export type PageMap = {
  readonly namespaces: readonly string[]
  /** Those that are shown. */
  readonly shown: readonly string[]
  readonly nodes: readonly MapNode[]
  readonly edges: readonly MapEdge[]
  readonly frames: readonly Frame[]
  readonly width: number
  readonly height: number
  /** Changes when anything does that the map is made of. */
  readonly version: string
}
