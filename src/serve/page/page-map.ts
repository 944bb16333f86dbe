import type { NodeKind } from '../../ask/views/node-kind.ts'

export type MapNode = {
  readonly namespace: string
  readonly application: string
  readonly id: string
  readonly kind: NodeKind
  /** `open`: any client may reach it, because no policy restricts it. Absent if that is unknown, or if nothing of it runs. */
  readonly access?: 'open' | 'guarded'
  /** A status of an application, `unreadable`, `unknown`, or `untold` for a workload without any event. */
  readonly status: string
  readonly message: string
  /** A few words: its place, its access, and its marks. */
  readonly caption: string
  /** Things to know at a glance: `hardened`, `audit`, `waiting`, `conflict`. */
  readonly marks: readonly string[]
  /** The beacon that it is related to. */
  readonly beacon?: string
  /** The waypoint that a beacon runs, or that an application uses. */
  readonly waypoint?: string
  /** The ports of its Service. */
  readonly ports: readonly number[]
  /** The coordinator of its cluster. */
  readonly group?: string
}

export type MapEdge = {
  readonly id: string
  readonly from: string
  readonly to: string
  /** `allowed` by policies, `open` if the target is, or `none` if the applications are related but no request passes. */
  readonly access: 'allowed' | 'open' | 'none'
  readonly isTelemetry: boolean
  /** `:9080 GET /details/*`, one line for each port. */
  readonly label: string
  /** An example of an allowed request. */
  readonly sample?: { readonly port: number; readonly method?: string; readonly path?: string }
  readonly relations: readonly { readonly id: number; readonly label: string; readonly interface: string }[]
}

/** The applications of namespaces with the allowed traffic between them, in JSON. */
export type PageMap = {
  readonly namespaces: readonly string[]
  /** The namespaces on the map. */
  readonly shown: readonly string[]
  readonly nodes: readonly MapNode[]
  readonly edges: readonly MapEdge[]
  /** Changes with any object that the map is made of. */
  readonly version: string
}

/** The part of the answer of `GET /traffic` that the page takes. */
export type PageTraffic = {
  readonly namespace: string
  /** The part of the window in which proxies were scraped. */
  readonly coveredSeconds?: number
  /** The worst class comes first. */
  readonly flows: readonly PageFlow[]
}

export type PageFlow = {
  readonly from: string
  readonly to: string
  readonly requests: number
  readonly refused: number
  readonly relations: readonly { readonly id: number; readonly label: string }[]
  readonly access: MapEdge['access'] | 'unknown'
  readonly class: 'refused' | 'used without a relation' | 'allowed and used' | 'allowed and silent'
}
