import type { Memo } from '../../platform/base/memo.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { isForbidden } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL, MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { findMemory, memoryName, readPublicState } from '../state/memory.ts'
import { relationsIn } from '../state/relation.ts'
import type { PublicState, State } from '../state/state.ts'
import { isOfAlias } from './databags/cross-model.ts'
import { isBetween, remoteSubject } from './peer-entry.ts'
import { endsAlone } from './told/tombstones.ts'

/** The public state of another application, and its workload's labels. */
export type ReadablePeer = { readonly state: PublicState; readonly labels: Readonly<Record<string, string>> }

/** Another application. Without a readable memory it is unknown, with the reason. */
export type Peer = { readonly subject: Subject } & (
  | ReadablePeer
  | {
      readonly unknown: 'missing' | 'unreadable'
      readonly problem: string
      /** No workload with its name exists either. */
      readonly isGone?: true
    }
)

/** Returns the public state of a peer, if its memory can be read. */
export const stateOf = (peer: Peer | undefined): PublicState | undefined =>
  peer && 'state' in peer ? peer.state : undefined

/** Other applications by `{namespace}/{application}`. */
export type Peers = ReadonlyMap<string, Peer>

/** The limit of reads by name. More applications of one namespace are listed in one call. */
const MOST_READ_BY_NAME = 16

/** Lists the peers of a state. Aliases, which a relation of `cross_model_mesh` without a namespace declares, are left out, and so is the application itself. */
export const listRemotes = (subject: Subject, state: Pick<State, 'relations'>): Subject[] => {
  const isRemote = remoteTest(subject, state)
  const remotes = Object.values(state.relations).map((entry) => remoteSubject(subject, entry))
  const named = new Map(remotes.map((remote) => [subjectName(remote), remote]))
  return [...named.values()].filter(isRemote)
}

/** Returns a test for applications other than `subject`, without local aliases of applications in other namespaces. */
export const remoteTest = (
  subject: Subject,
  { relations }: Pick<State, 'relations'>,
): ((other: Subject) => boolean) => {
  const aliases = Object.values(relations)
    .filter((entry) => isOfAlias(subject, entry))
    .map((entry) => remoteSubject(subject, entry))
  const none = new Set([subject, ...aliases].map(subjectName))
  return (other) => !none.has(subjectName(other))
}

/** Reads the memories of `remotes`. An unreadable memory makes its peer unknown, and the rest goes on. */
export const readPeers = async (kubernetes: Kubernetes, remotes: readonly Subject[]): Promise<Peers> => {
  const byNamespace = [...Map.groupBy(remotes, ({ namespace }) => namespace)]
  const read = await Promise.all(
    byNamespace.map(async ([namespace, same]) => {
      if (same.length <= MOST_READ_BY_NAME)
        return await Promise.all(same.map((subject) => readPeer(kubernetes, subject)))
      const names = new Set(same.map(({ application }) => application))
      const listed = await errorIfForbidden(listPeers(kubernetes, namespace, (application) => names.has(application)))
      if (listed instanceof Error) return same.map((subject) => unreadablePeer(subject, listed))
      return same.map((subject) => listed.get(subjectName(subject)) ?? missingPeer(subject))
    }),
  )
  return new Map(read.flat().map((peer) => [subjectName(peer.subject), peer]))
}

const readPeer = async (kubernetes: Kubernetes, subject: Subject): Promise<Peer> => {
  const found = await errorIfForbidden(findMemory(kubernetes, subject))
  if (found instanceof Error) return unreadablePeer(subject, found)
  kubernetes.keep(found?.data?.state?.length ?? 0)
  return found === undefined ? missingPeer(subject) : parsePeer(subject, found, kubernetes.memo)
}

/** Returns the error if access to another namespace is forbidden. */
const errorIfForbidden = async <T>(reading: Promise<T>): Promise<T | Error> => {
  try {
    return await reading
  } catch (error) {
    if (isForbidden(error)) return error as Error
    throw error
  }
}

const unreadablePeer = (subject: Subject, { message }: Error): Peer => ({
  subject,
  unknown: 'unreadable',
  problem: message,
})

/** Builds the peer without a memory. */
export const missingPeer = (subject: Subject): Peer => ({
  subject,
  unknown: 'missing',
  problem: `${subjectName(subject)} has no memory`,
})

const parsePeer = (subject: Subject, memory: KubernetesObject, memo: Memo): Peer => {
  const read = readPublicState(memory, memo)
  if (read instanceof Error) return unreadablePeer(subject, read)
  return read === undefined ? missingPeer(subject) : { subject, state: read.state, labels: read.labels }
}

/** The size that each search of memories counts for, in characters, in addition to the kept ones. */
const LEAST_KEPT = 64 * 1024

/** Lists the applications with a memory in all namespaces. Only names are read. */
export const listNamesEverywhere = async (kubernetes: Kubernetes): Promise<Subject[]> =>
  (
    await kubernetes.pages('ConfigMap', undefined, MEMORY_SELECTOR, (memories) =>
      memories.flatMap((memory) => ownerOf(memory) ?? []),
    )
  ).flat()

/** Returns the application of a memory. Undefined for any other ConfigMap. */
const ownerOf = ({ metadata: { name, namespace = '', labels } }: KubernetesObject): Subject | undefined => {
  const application = ownValue(labels, APPLICATION_LABEL) ?? ''
  return name === memoryName(application) ? { namespace, application } : undefined
}

/**
 * Lists the memories of a namespace by `{namespace}/{application}`. Only those of wanted applications are parsed. Of each page, only the
 * kept ones stay in memory.
 */
export const listPeers = async (
  kubernetes: Kubernetes,
  namespace: string,
  isWanted: (application: string) => boolean = () => true,
  isKept: (peer: Peer) => boolean = () => true,
): Promise<Map<string, Peer>> => {
  kubernetes.keep(LEAST_KEPT)
  const pages = await kubernetes.pages('ConfigMap', namespace, MEMORY_SELECTOR, async (memories) => {
    const kept: Peer[] = []
    for (const memory of memories) {
      const subject = ownerOf(memory)
      if (subject === undefined || !isWanted(subject.application)) continue
      await kubernetes.yieldTurn()
      const peer = parsePeer(subject, memory, kubernetes.memo)
      if (!isKept(peer)) continue
      kubernetes.keep(memory.data?.state?.length ?? 0)
      kept.push(peer)
    }
    return kept
  })
  return new Map(pages.flat().map((peer) => [subjectName(peer.subject), peer]))
}

/** Tells if a memory has a relation with `subject`, or the end of one, and if `subject` is not a local alias there. */
export const isRelatedTo = (peer: Peer, subject: Subject): boolean =>
  'state' in peer &&
  (relationsIn(peer.state).some((entry) => isBetween(entry, peer.subject, subject)) ||
    endsAlone(subject, peer.subject, peer.state).length > 0) &&
  remoteTest(peer.subject, peer.state)(subject)
