import * as z from 'zod'
import type { PeerAuthentication } from './evaluate.ts'
import type { ObservedCluster } from './observe.ts'

const Mode = z.enum(['UNSET', 'DISABLE', 'PERMISSIVE', 'STRICT']).default('UNSET')
const Mutual = z.object({ mode: Mode })

const Peer = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string(), creationTimestamp: z.string().default('') }),
  spec: z
    .object({
      selector: z.object({ matchLabels: z.record(z.string(), z.string()).optional() }).optional(),
      mtls: Mutual.nullish(),
      portLevelMtls: z.record(z.string(), Mutual).optional(),
    })
    .default({}),
})

/** Parses the PeerAuthentications of the cluster. An unreadable one is ignored, with a note. */
export const readPeerAuthentications = ({
  peerAuthentications = [],
}: Pick<ObservedCluster, 'peerAuthentications'>): { peerAuthentications: PeerAuthentication[]; notes: string[] } => {
  const read = peerAuthentications.map((object) => ({ object, result: Peer.safeParse(object) }))
  return {
    peerAuthentications: read.flatMap(({ result }) => (result.success ? [peerAuthentication(result.data)] : [])),
    notes: read.flatMap(({ object: { metadata }, result }) =>
      result.success
        ? []
        : [`PeerAuthentication ${metadata.namespace}/${metadata.name} cannot be read: it is taken to refuse nobody`],
    ),
  }
}

const peerAuthentication = ({ metadata, spec }: z.infer<typeof Peer>): PeerAuthentication => ({
  namespace: metadata.namespace,
  name: metadata.name,
  created: metadata.creationTimestamp,
  selector: spec.selector && (spec.selector.matchLabels ?? {}),
  mode: spec.mtls?.mode ?? 'UNSET',
  ports: Object.fromEntries(Object.entries(spec.portLevelMtls ?? {}).map(([port, { mode }]) => [port, mode])),
})
