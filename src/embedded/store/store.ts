import type { KubernetesObject } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import { kinds } from '../kinds/kinds.ts'

export type Change = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubernetesObject
  /** The object as stored before, for watches whose selector it left or joined. */
  readonly previous: KubernetesObject | undefined
  readonly kind: Kind
  readonly revision: number
}

// What a watch may still ask for, as etcd keeps it for five minutes.
const historyLimit = 5000

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`

/** Objects by kind, namespace and name. Every change gets the next resourceVersion, and is told to the listeners in order. */
export class Store {
  #revision = 0
  #serial = 0
  #history: Change[] = []
  #announcing = false
  readonly #pending: Change[] = []
  readonly #objects = new Map<Kind, Map<string, KubernetesObject>>()
  readonly #listeners = new Set<(change: Change) => void>()

  get revision(): number {
    return this.#revision
  }

  /** A number that was not given before, for what a cluster picks at random. */
  nextSerial(): number {
    this.#serial += 1
    return this.#serial
  }

  get(kind: Kind, namespace: string | undefined, name: string): KubernetesObject | undefined {
    return this.#objects.get(kind)?.get(keyOf(namespace, name))
  }

  /** The objects of a kind, of one namespace or of all, by namespace and name. */
  list(kind: Kind, namespace?: string): KubernetesObject[] {
    const found: [string, KubernetesObject][] = []
    for (const item of this.#objects.get(kind) ?? []) {
      if (namespace === undefined || item[1].metadata.namespace === namespace) found.push(item)
    }
    return found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  all(): { kind: Kind; object: KubernetesObject }[] {
    return kinds.flatMap((kind) => this.list(kind).map((object) => ({ kind, object })))
  }

  put(kind: Kind, object: KubernetesObject): KubernetesObject {
    const { namespace, name } = object.metadata
    const previous = this.get(kind, namespace, name)
    const stored = this.adopt(kind, object)
    this.#record({ type: previous ? 'MODIFIED' : 'ADDED', object: stored, previous, kind, revision: this.#revision })
    return stored
  }

  /** Stores an object as another cluster has it: to have read it is no change. */
  adopt(kind: Kind, object: KubernetesObject): KubernetesObject {
    const stored = this.#stamped(object)
    const ofKind = this.#objects.get(kind) ?? new Map<string, KubernetesObject>()
    this.#objects.set(kind, ofKind.set(keyOf(stored.metadata.namespace, stored.metadata.name), stored))
    return stored
  }

  remove(kind: Kind, object: KubernetesObject): KubernetesObject {
    const { namespace, name } = object.metadata
    const previous = this.get(kind, namespace, name)
    const last = this.#stamped(object)
    this.#objects.get(kind)?.delete(keyOf(namespace, name))
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
    for (const [kind, objects] of this.#objects) copy.#objects.set(kind, new Map(objects))
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

  #stamped(object: KubernetesObject): KubernetesObject {
    this.#revision += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
  }

  #record(change: Change): void {
    this.#history.push(change)
    this.#pending.push(change)
    if (this.#history.length > 2 * historyLimit) this.#history = this.#history.slice(-historyLimit)
  }
}
