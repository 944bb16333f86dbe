import type { MapEdge, MapNode, PageMap } from '../../../src/serve/page/page-map.ts'

const TEAMS = ['cart', 'catalog', 'checkout', 'loyalty', 'orders', 'payments', 'reviews', 'search', 'shipping', 'stock']
const TIERS = ['web', 'api', 'worker', 'cache', 'db', 'proxy']

type Size = { readonly namespaces: number; readonly applications: number; readonly edges: number }

/** A map as the server sends it: each application calls the same number of others, some of them in other namespaces. */
export const largeMap = ({ namespaces, applications, edges }: Size, version = '1'): PageMap => {
  const names = Array.from({ length: namespaces }, (_, index) => `region-${String(index + 1).padStart(2, '0')}`)
  const nodes = Array.from({ length: applications }, (_, index) =>
    nodeOf(names[index % namespaces] ?? '', Math.floor(index / namespaces)),
  )
  const each = applications / namespaces
  const found = Array.from({ length: edges }, (_, index) => {
    const [from, round] = [index % applications, Math.floor(index / applications)]
    const [home, own] = [from % namespaces, Math.floor(from / namespaces)]
    // each fourth one is elsewhere
    const there = index % 4 === 3 ? (home + 1 + round) % namespaces : home
    const to = (own + 3 + round * 7) % each
    return edgeOf(nodes[from] as MapNode, nodes[to * namespaces + there] as MapNode)
  })
  const drawn = new Map(found.filter(({ from, to }) => from !== to).map((edge) => [edge.id, edge]))
  return { namespaces: names, shown: names, nodes, edges: [...drawn.values()], version }
}

const nodeOf = (namespace: string, index: number): MapNode => {
  const application = [TEAMS[index % TEAMS.length], TIERS[Math.floor(index / TEAMS.length) % TIERS.length]].join('-')
  return {
    ...{ id: `${namespace}/${application}`, namespace, application, kind: 'mesh', access: 'guarded', status: 'active' },
    ...{ message: '', caption: 'on mesh · guarded', marks: [], ports: [8080] },
  }
}

const edgeOf = ({ id: from }: MapNode, { id: to }: MapNode): MapEdge => ({
  ...{ id: `${from} → ${to}`, from, to, access: 'allowed', isTelemetry: false, label: ':8080 GET /v1/*' },
  relations: [],
})
