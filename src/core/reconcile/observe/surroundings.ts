import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { hasWorkload } from '../../../platform/kubernetes/workloads.ts'
import type { Features } from '../../feature/combine.ts'
import { remoteSubject } from '../../relations/peer-entry.ts'
import { hadMemory } from '../../relations/peer-view.ts'
import {
  isRelatedTo,
  listPeers,
  listRemotes,
  missingPeer,
  type Peer,
  type Peers,
  readPeers,
  remoteTest,
} from '../../relations/peers.ts'
import {
  type Document,
  findDocuments,
  isAbout,
  listDocuments,
  rememberedDocuments,
} from '../../relations/told/documents.ts'
import { relationKey } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import { type Change, isNamespaceResync } from '../change.ts'
import { type Documents, undocumented } from '../fold/fold-documents.ts'

/** The data of other sources about an application: the memories of its peers, and its documents. */
export type Surroundings = { readonly peers: Peers; readonly documents: Documents }

/**
 * Reads peers and documents, by name if names are known. All memories and documents of the namespace are searched for the application's
 * name in three cases: its own memory is missing, the event is a resync, or the event is about an unknown relation.
 */
export const readSurroundings = async (
  { configDocument }: Pick<Features, 'configDocument'>,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State | undefined,
  changes: readonly Change[],
): Promise<Surroundings> => {
  const known = state ?? { relations: {} }
  const isEverything =
    state === undefined || changes.some(({ look }) => look?.everything || isUnknown(known, look?.relation))
  const documents = await readDocuments(kubernetes, subject, known, changes, isEverything, configDocument)
  const remotes = allRemotes(subject, known, changes, documents)
  const names = new Set(remotes.map(subjectName))
  const isKept = (peer: Peer) => names.has(subjectName(peer.subject)) || isRelatedTo(peer, subject)
  const named = isEverything ? await listPeers(kubernetes, subject.namespace, () => true, isKept) : undefined
  const naming = [...(named?.values() ?? [])].filter((peer) => isRelatedTo(peer, subject))
  const unread = remotes.filter(({ namespace }) => named === undefined || namespace !== subject.namespace)
  const listed = remotes
    .filter((remote) => !unread.includes(remote))
    .map((remote) => named?.get(subjectName(remote)) ?? missingPeer(remote))
  const read = [...naming, ...listed, ...(await readPeers(kubernetes, unread)).values()]
  const shown = Object.values(known.relations).filter(hadMemory)
  const awaited = new Set(shown.map((entry) => subjectName(remoteSubject(subject, entry))))
  const peers = await Promise.all(read.map((peer) => withLife(kubernetes, awaited, peer)))
  return { peers: new Map(peers.map((peer) => [subjectName(peer.subject), peer])), documents }
}

/** Marks a peer without memory and workload as gone. A peer that only lost its memory may still carry labels. */
const withLife = async (kubernetes: Kubernetes, awaited: ReadonlySet<string>, peer: Peer): Promise<Peer> => {
  if ('state' in peer || peer.unknown !== 'missing') return peer
  return awaited.has(subjectName(peer.subject)) && !(await hasWorkload(kubernetes, peer.subject))
    ? { ...peer, isGone: true }
    : peer
}

/** Tells if the memory lacks a relation. Perhaps only the peer was told of it. */
const isUnknown = ({ relations }: Pick<State, 'relations'>, id: number | undefined): boolean =>
  id !== undefined && !Object.values(relations).some((entry) => entry.id === id)

const readDocuments = async (
  kubernetes: Kubernetes,
  subject: Subject,
  known: Pick<State, 'relations' | 'document'>,
  changes: readonly Change[],
  isEverything: boolean,
  schema: Features['configDocument'],
): Promise<Documents> => {
  const looks = changes.flatMap(({ look }) => look ?? [])
  const names = looks.flatMap(({ document, documents = [] }) => [...(document ? [document] : []), ...documents])
  const looked = [...new Set(names)]
  const remembered = new Set([...rememberedDocuments(known), ...looked])
  const list = () =>
    listDocuments(
      kubernetes,
      subject.namespace,
      schema,
      (document) => isAbout(subject, document) || ('problem' in document && remembered.has(document.name)),
    )
  const read = isEverything ? await list() : await findDocuments(kubernetes, subject, looked, schema)
  // the document in the memory takes precedence, and may have been deleted
  const holders = isEverything ? [] : rivalsOf(read, known)
  const held = await findDocuments(kubernetes, subject, holders, schema)
  const found = [...read, ...held]
  const documents: Documents = {
    found,
    looked: isEverything || isNamespaceResync(changes) ? 'all' : looked,
  }
  // a document of the other side may declare the relation of a deleted one
  const isAnyGone = !isEverything && undocumented(known, subject, documents).length > 0
  return isAnyGone ? { ...documents, found: await list() } : documents
}

/** Names the documents by which the memory holds the same declarations. */
const rivalsOf = (
  read: readonly Document[],
  { relations, document: config }: Pick<State, 'relations' | 'document'>,
): string[] => {
  const names = new Set(read.map(({ name }) => name))
  const held = read.flatMap((document) => {
    if ('config' in document) return config ?? []
    if (!('announced' in document)) return []
    return ownValue(relations, relationKey(document.announced))?.document ?? []
  })
  return held.filter((name) => !names.has(name))
}

const allRemotes = (
  subject: Subject,
  state: Pick<State, 'relations'>,
  changes: readonly Change[],
  { found }: Documents,
): Subject[] => {
  const told = changes.flatMap(({ look }) => look?.remotes ?? [])
  const named = changes.flatMap(({ look }) => look?.named ?? []).map((name) => ({ application: name }))
  const documented = found.flatMap((document) =>
    'announced' in document && document.application === subject.application ? [document.announced.remote] : [],
  )
  const remotes = [...told, ...named, ...documented].map((remote) => remoteSubject(subject, { remote }))
  const others = remotes.filter(remoteTest(subject, state))
  const all = [...listRemotes(subject, state), ...others]
  return [...new Map(all.map((remote) => [subjectName(remote), remote])).values()]
}
