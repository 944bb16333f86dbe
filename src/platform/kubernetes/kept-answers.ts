import { createHash } from 'node:crypto'
import { createBoundedMap } from '../base/bounded-map.ts'
import type { Clock } from '../base/clock.ts'
import { type Kubernetes, nameOfList } from './client.ts'
import { type KubernetesObject, nameOf } from './objects.ts'

/** The time for which an answer is kept, in milliseconds. Answers may also depend on the time, and on permissions. */
const KEPT_MILLISECONDS = 60_000

/** A call, and how to make it again. */
type Read = { readonly call: string; again(kubernetes: Kubernetes): Promise<unknown> }

type Kept = {
  readonly until: number
  readonly value: unknown
  /** The reads of the answer, with the version that each found. */
  readonly reads: ReadonlyMap<Read, string>
}

/** Adds to what an answer depends on: a text that `of` makes of the cluster. `name` identifies the function. */
export type Note = (name: string, of: (kubernetes: Kubernetes) => Promise<string>) => Promise<void>

/**
 * Answers a question with a client that records what is read, or returns the last answer to the same question if all that it read is unchanged, for up to a
 * minute. The value is shared and must not be changed. A rejection is not kept.
 */
export type KeptAnswers = <T>(
  question: string,
  answer: (kubernetes: Kubernetes, note: Note) => Promise<T>,
) => Promise<T>

/**
 * Creates a memory of the last `most` answers. Each request opens it with a client that reads each object once, because unchanged answers are found by
 * reading again.
 */
export const createKeptAnswers = (
  clock: Pick<Clock, 'now'>,
  most: number,
): ((kubernetes: Kubernetes) => KeptAnswers) => {
  const kept = createBoundedMap<Kept>(most)
  return (kubernetes) => {
    const found = new Map<string, { readonly read: Read; readonly version: string }>()
    const versionOf = async (read: Read): Promise<{ readonly read: Read; readonly version: string }> => {
      const known = found.get(read.call)
      if (known) return known
      const one = { read, version: await read.again(kubernetes).then(describe, failure) }
      found.set(read.call, one)
      return one
    }
    const isCurrent = async ({ until, reads }: Kept): Promise<boolean> => {
      if (until <= clock.now()) return false
      for (const [read, version] of reads) {
        const now = await versionOf(read)
        if (now.version !== version) return false
      }
      return true
    }
    return async <T>(question: string, answer: (kubernetes: Kubernetes, note: Note) => Promise<T>): Promise<T> => {
      const known = kept.get(question)
      if (known && (await isCurrent(known))) return known.value as T
      const reads = new Map<Read, string>()
      const note = async (read: Read): Promise<void> => {
        const { read: shared, version } = await versionOf(read)
        reads.set(shared, version)
      }
      const value = await answer(recording(kubernetes, note), (call, again) => note({ call, again }))
      kept.set(question, { until: clock.now() + KEPT_MILLISECONDS, value, reads }, 1)
      return value
    }
  }
}

/** Wraps a client so that each read is noted. */
const recording = (kubernetes: Kubernetes, note: (read: Read) => Promise<void>): Kubernetes => {
  const noted = async <T>(call: string, again: (client: Kubernetes) => Promise<T>): Promise<T> => {
    await note({ call, again })
    return await again(kubernetes)
  }
  const list: Kubernetes['list'] = (kind, namespace, selector, options) =>
    noted(nameOfList(kind, namespace, selector, options), (client) => client.list(kind, namespace, selector, options))
  return {
    ...kubernetes,
    find: (reference) => noted(nameOf(reference), (client) => client.find(reference)),
    list,
    listCached: (kind, namespace, selector) => list(kind, namespace, selector),
    pages: async (kind, namespace, selector, of) => [await of([...(await list(kind, namespace, selector))])],
  }
}

const describe = (found: unknown): string => {
  if (found === undefined || typeof found === 'string') return found ?? 'none'
  if (!Array.isArray(found)) return versionOfObject(found as KubernetesObject)
  const versions = (found as KubernetesObject[]).map(versionOfObject).join()
  return versions.length < MOST_PLAIN ? versions : createHash('sha256').update(versions).digest('base64url')
}

/** Longer texts are hashed, because each answer keeps some. */
const MOST_PLAIN = 64

/** Names the version of an object: no two objects have the same uid. */
export const versionOfObject = ({ metadata: { uid, resourceVersion } }: KubernetesObject): string =>
  `${uid} ${resourceVersion}`

const failure = (error: unknown): string => `failed: ${error}`
