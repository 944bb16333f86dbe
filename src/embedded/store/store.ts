import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import type { Kind } from '../kinds/kind.ts'
import { kinds } from '../kinds/kinds.ts'
import { type Owner, ownersOf } from './owner-references.ts'

export type Change = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: StoredObject
  /** The object as stored before, for watches whose selector it left or joined. */
  readonly previous: StoredObject | undefined
  readonly kind: Kind
  readonly revision: number
}

// What a watch may still ask for, as etcd keeps it for five minutes.
const historyLimit = 5000

export type Stored = { readonly kind: Kind; readonly object: StoredObject }

/** The key of objects without a namespace. */
const NOWHERE = ''

const byName = ({ object: one }: Stored, { object: other }: Stored): number =>
  one.metadata.name < other.metadata.name ? -1 : 1

const ownerKey = ({ kind, namespace = NOWHERE, name }: Owner): string => `${namespace}/${kind}/${name}`

/** etcd orders whole paths: `a-b/` is before `a/`. */
const byPath = (one: string, other: string): number => (`${one}/` < `${other}/` ? -1 : 1)

/**
 * Objects by kind, namespace and name, and by their owners, so that no write looks through all. Every change gets the next resourceVersion, and is told
 * to the listeners in order.
 */
export class Store {
  #revision = 0
  #serial = 0
  #history: Change[] = []
  #announcing = false
  readonly #pending: Change[] = []
  readonly #objects = new Map<Kind, Map<string, Map<string, Stored>>>()
  readonly #owned = new Map<string, Set<Stored>>()
  readonly #listeners = new Set<(change: Change) => void>()

  get revision(): number {
    return this.#revision
  }

  /** A number that was not given before, for what a cluster picks at random. */
  nextSerial(): number {
    this.#serial += 1
    return this.#serial
  }

  get(kind: Kind, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#stored(kind, namespace, name)?.object
  }

  /** The objects of a kind, of one namespace or of all, by namespace and name. */
  list(kind: Kind, namespace?: string): StoredObject[] {
    return this.#listed(kind, namespace).map(({ object }) => object)
  }

  /** The objects of all kinds, of one namespace or of all. */
  all(namespace?: string): Stored[] {
    return kinds.flatMap((kind) => this.#listed(kind, namespace))
  }

  /** The objects that name one as an owner, by name. */
  ownedBy({ kind, metadata: { namespace, name } }: StoredObject): Stored[] {
    return [...(this.#owned.get(ownerKey({ kind, namespace, name })) ?? [])].toSorted(byName)
  }

  put(kind: Kind, object: StoredObject): StoredObject {
    const { namespace, name } = object.metadata
    const previous = this.get(kind, namespace, name)
    const stored = this.#stamped(object)
    this.#take(kind, namespace, name)
    this.#place({ kind, object: stored })
    this.#record({ type: previous ? 'MODIFIED' : 'ADDED', object: stored, previous, kind, revision: this.#revision })
    return stored
  }

  remove(kind: Kind, object: StoredObject): StoredObject {
    const { namespace, name } = object.metadata
    const previous = this.get(kind, namespace, name)
    const last = this.#stamped(object)
    this.#take(kind, namespace, name)
    this.#record({ type: 'DELETED', object: last, previous, kind, revision: this.#revision })
    return last
  }

  /** The changes after a revision; undefined when they are no longer all known. */
  since(revision: number): Change[] | undefined {
    const [oldest] = this.#history
    if (oldest !== undefined && oldest.revision > revision + 1) return undefined
    return this.#history.filter((change) => change.revision > revision)
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A store of the same objects, without listeners. */
  copy(): Store {
    const copy = new Store()
    copy.#revision = this.#revision
    copy.#serial = this.#serial
    copy.#history = [...this.#history]
    for (const stored of this.all()) copy.#place(stored)
    return copy
  }

  /** Tells the listeners what changed since the last time; what they change themselves is told after it. */
  announce(): void {
    if (this.#announcing) return
    this.#announcing = true
    try {
      for (let change = this.#pending.shift(); change; change = this.#pending.shift()) {
        for (const listener of this.#listeners) listener(change)
      }
    } finally {
      this.#announcing = false
    }
  }

  #stored(kind: Kind, namespace: string | undefined, name: string): Stored | undefined {
    return this.#objects
      .get(kind)
      ?.get(namespace ?? NOWHERE)
      ?.get(name)
  }

  #listed(kind: Kind, namespace?: string): Stored[] {
    const places = this.#objects.get(kind) ?? new Map<string, Map<string, Stored>>()
    const namespaces = namespace === undefined ? [...places.keys()].toSorted(byPath) : [namespace]
    return namespaces.flatMap((one) => [...(places.get(one)?.values() ?? [])].toSorted(byName))
  }

  #place(stored: Stored): void {
    const { kind, object } = stored
    const { namespace = NOWHERE, name } = object.metadata
    const places = this.#objects.get(kind) ?? new Map<string, Map<string, Stored>>()
    const place = places.get(namespace) ?? new Map<string, Stored>()
    this.#objects.set(kind, places.set(namespace, place.set(name, stored)))
    for (const key of ownersOf(object).map(ownerKey))
      this.#owned.set(key, (this.#owned.get(key) ?? new Set()).add(stored))
  }

  #take(kind: Kind, namespace: string | undefined, name: string): void {
    const stored = this.#stored(kind, namespace, name)
    if (stored === undefined) return
    this.#objects
      .get(kind)
      ?.get(namespace ?? NOWHERE)
      ?.delete(name)
    for (const key of ownersOf(stored.object).map(ownerKey)) this.#owned.get(key)?.delete(stored)
  }

  #stamped(object: StoredObject): StoredObject {
    this.#revision += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
  }

  #record(change: Change): void {
    this.#history.push(change)
    this.#pending.push(change)
    if (this.#history.length > 2 * historyLimit) this.#history = this.#history.slice(-historyLimit)
  }
}
