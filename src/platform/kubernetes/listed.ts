import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { Unavailable } from '../base/errors.ts'
import { memoizeLatest } from '../base/memoize-latest.ts'
import { ownValue } from '../base/own-value.ts'
import { type Kubernetes, keptOf, type ListOptions } from './client.ts'
import { isMet, requirementsIn } from './label-selector.ts'
import type { Kind, KubernetesObject, Reference } from './objects.ts'
import { APPLICATION_LABEL, isMadeByMeshstep } from './ownership-labels.ts'
import { NAME_LABEL } from './services.ts'

/** Lists for many readers. They are kept compressed, because all objects of a large namespace do not fit into memory. */
export type Listed = {
  /** A client that also keeps the pages that it reads. */
  readonly listing: Kubernetes
  /** A client that reads listed objects from memory, and others from the cluster. It rejects writes. */
  readonly reading: Kubernetes
}

/** The number of objects in a compressed block. Compressed, they take a tenth of their size. One is found in a tenth of a millisecond. */
const TOGETHER = 16

/** The indexed labels. They filter a list without a call: the labels of an application's objects, and of its pods. */
const INDEXED = [APPLICATION_LABEL, NAME_LABEL]

/** The limit of uncompressed blocks. Neighbours are read one after another. */
const MOST_INFLATED = 16

/** The limit of kept objects that were not listed. */
const MOST_READ = 64

/** The limit of compressed bytes. The uncompressed objects are ten times larger. */
const MOST_PACKED = 32 * 1024 * 1024

const TOO_MUCH = 'the namespace has more than can be looked through at once: delete what is not needed'

/** An object, as a line in a block. */
type Packed = {
  readonly block: Uint8Array
  readonly line: number
  readonly name: string
  readonly labels: readonly string[]
}

type List = {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly named: ReadonlyMap<string, Packed>
  /** Indexed by `key=value`. */
  readonly labelled: ReadonlyMap<string, readonly Packed[]>
}

export const createListed = (kubernetes: Kubernetes, mostPacked = MOST_PACKED): Listed => {
  let bytes = 0
  const lists: List[] = []
  const readOnce = memoizeLatest((reference: string) => kubernetes.find(JSON.parse(reference)), MOST_READ)
  const linesOf = memoizeLatest((block: Uint8Array) => inflateRawSync(block).toString().split('\n'), MOST_INFLATED)

  const unpack = async (
    packed: readonly Packed[],
    isWanted: (object: KubernetesObject) => boolean = () => true,
    options?: ListOptions,
  ): Promise<KubernetesObject[]> => {
    const objects: KubernetesObject[] = []
    for (const [index, { block, line }] of packed.entries()) {
      if (index >= TOGETHER) await kubernetes.yieldTurn()
      const object: KubernetesObject = JSON.parse(linesOf(block)[line] ?? '')
      if (isWanted(object)) objects.push(...keptOf([object], options))
    }
    return objects
  }

  const find: Kubernetes['find'] = async (reference) => {
    const { kind, namespace } = reference
    const known = lists.filter((list) => list.kind === kind && [namespace, undefined].includes(list.namespace))
    const found = known.flatMap(({ named }) => named.get(nameIn(reference)) ?? [])
    if (found.length > 0) return (await unpack(found))[0]
    const isWhole = known.some(({ selector }) => selector === undefined)
    return isWhole ? undefined : await readOnce(JSON.stringify(reference))
  }

  const list: Kubernetes['list'] = async (kind, namespace, selector, options) => {
    const known = lists.filter((one) => one.kind === kind && one.namespace === namespace)
    const same = known.find((one) => one.selector === selector)
    if (same) return await unpack([...same.named.values()], undefined, options)
    const wanted = requirementsIn(selector)
    const pair = wanted?.find((one) => INDEXED.some((key) => one.startsWith(`${key}=`)))
    const wider = known.find((one) => isWithin(wanted, requirementsIn(one.selector)))
    if (wanted === undefined || pair === undefined || wider === undefined)
      return await kubernetes.list(kind, namespace, selector, options)
    const isWanted = (object: KubernetesObject) => wanted.every((one) => isMet(one, object))
    return await unpack(wider.labelled.get(pair) ?? [], isWanted, options)
  }

  const refuse = async (): Promise<never> => {
    throw new Error('expected no write by a reader of lists')
  }

  return {
    listing: {
      ...kubernetes,
      pages: async (kind, namespace, selector, of) => {
        const read = async (objects: KubernetesObject[]) => {
          // anybody may set labels, so of other namespaces only objects with meshstep's field manager are kept
          const packed = pack(namespace === undefined ? objects.filter(isMadeByMeshstep) : objects)
          for (const block of new Set(packed.map((one) => one.block))) bytes += block.byteLength
          if (bytes > mostPacked) throw new Unavailable(TOO_MUCH, { status: 429, retryAfterSeconds: 1 })
          return { packed, made: await of(objects) }
        }
        const pages = await kubernetes.pages(kind, namespace, selector, read)
        lists.push({ kind, namespace, selector, ...indexed(pages.flatMap(({ packed }) => packed)) })
        return pages.map(({ made }) => made)
      },
    },
    reading: {
      ...kubernetes,
      ...{ find, list },
      ...{ create: refuse, replace: refuse, apply: refuse, patch: refuse, remove: refuse },
    },
  }
}

const pack = (objects: readonly KubernetesObject[]): Packed[] =>
  Array.from({ length: Math.ceil(objects.length / TOGETHER) }, (_, index) => {
    const together = objects.slice(index * TOGETHER, (index + 1) * TOGETHER)
    // JSON escapes line breaks in strings
    const lines = together.map((object) => JSON.stringify(object)).join('\n')
    // copied, because zlib's result is part of a far larger buffer
    const block = new Uint8Array(deflateRawSync(lines, { level: 1 }))
    return together.map(({ metadata }, line) => ({
      ...{ block, line, name: nameIn(metadata) },
      labels: INDEXED.flatMap((key) => {
        const value = ownValue(metadata.labels, key)
        return value === undefined ? [] : [`${key}=${value}`]
      }),
    }))
  }).flat()

const indexed = (packed: readonly Packed[]): Pick<List, 'named' | 'labelled'> => {
  const pairs = packed.flatMap((one) => one.labels.map((label) => ({ label, one })))
  const labelled = [...Map.groupBy(pairs, ({ label }) => label)]
  return {
    named: new Map(packed.map((one) => [one.name, one])),
    labelled: new Map(labelled.map(([label, all]) => [label, all.map(({ one }) => one)])),
  }
}

const nameIn = ({ namespace, name }: Pick<Reference, 'namespace' | 'name'>): string => `${namespace}/${name}`

/** Tells if the wanted requirements imply the others. */
const isWithin = (wanted: readonly string[] = [], others: readonly string[] | undefined): boolean =>
  others?.every((other) => wanted.some((one) => one === other || one.startsWith(`${other}=`))) === true
