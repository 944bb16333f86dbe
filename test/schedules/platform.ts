import {
  aboutOf,
  describeFact,
  documentName,
  documentOf,
  eventData,
  eventType,
  type Fact,
  type Order,
  type Told,
} from './facts.ts'
import { memoryName, memoryPath, namespaceOf, sidesOf } from './fixture.ts'
import { describeTouched, findTouched, type Hand, isAsLeft, layHand, type Undone, undoneOf } from './hands.ts'
import type { Event, KubernetesObject } from './process.ts'
import { type Letter, objectNamed, type World } from './world.ts'

/** A fact that was told by an event, and its place in the platform's order. */
export type Word = { fact: Told; at: number; letter?: Letter }

/** What of a platform goes on in a copy of it: plain data. */
type Said = {
  /** Everything that was said, in its order. */
  facts: Fact[]
  words: Word[]
  /** Facts by the names of the documents that hold them. */
  documents: Map<string, Word>
  /** Every event of the platform, in the order in which they were sent. */
  letters: Letter[]
  /** How many events the platform has sent itself. */
  sequence: number
  /** The serial number of the last fact or first answer about a thing. */
  changed: Map<string, number>
  /** The versions of each memory since the race began, by application; none where nothing is restored. */
  versions: Map<string, KubernetesObject[]>
  /** An older memory was restored, and what was told since is not told again yet. */
  isOutdated: boolean
  /** The serial number of the last write by hand, and what is yet as a person has left it. */
  byHand: { serial: number; undone: Undone[]; isMended: boolean }
}

/** Tells if the memory of an application, or of any, lost words: it was deleted by hand, or an older one was restored. */
export const isMemoryDeleted = ({ facts }: Said, application?: string): boolean =>
  facts.some(({ kind, side }) => (kind === 'forgotten' || kind === 'restored') && (application ?? side) === side)

export type Platform = {
  said: Said
  /** Has a person write to objects. */
  byHand(write: () => void): void
  /** Tells if a person is writing to an object at this very moment. */
  isWritingByHand(): boolean
  /** Does what a fact says, and answers with the letters that tell of it. */
  say(fact: Fact, time?: number): Letter[]
}

type Options = {
  order(fact: Fact): Order
  skew(side: string): number
  /** Whether the versions of memories are kept, so that they can be restored. */
  isBackedUp?: boolean
  /** What another platform has said. */
  said?: Said
}

const NOTHING_SAID = (): Said => ({
  ...{ facts: [], words: [], letters: [], sequence: 0 },
  documents: new Map(),
  changed: new Map(),
  versions: new Map(),
  isOutdated: false,
  byHand: { serial: 0, undone: [], isMended: false },
})

/** What a removal comes after: the first word to an application of which none has come yet. No rule mends a removal that nothing was known before. */
const firstOf = ({ kind, side }: Told, { words }: Said): Letter[] => {
  if (kind !== 'removed') return []
  const about = words.filter(({ fact }) =>
    'relation' in fact ? sidesOf(fact.relation).includes(side) : fact.side === side,
  )
  if (about.some(({ letter }) => letter?.isAnswered)) return []
  return about.flatMap(({ fact, letter }) => (fact.side === side && letter ? [letter] : [])).slice(0, 1)
}

const VERBS = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const

/** Juju, kubectl and Knative's source of documents, who tell the functions what people want. */
export const createPlatform = (
  world: World,
  { order, skew, isBackedUp = false, said = NOTHING_SAID() }: Options,
): Platform => {
  let about = ''
  let sent: Letter[] = []
  let isWritingByHand = false

  const send = (event: Event, application: string, name: string, after: readonly Letter[] = []): Letter => {
    const letter: Letter = { event, name, application, about, isPlatform: true, attempts: 0, isAnswered: false, after }
    said.letters.push(letter)
    world.network.push(letter)
    sent.push(letter)
    return letter
  }

  world.onAnswer = (letter) => {
    if (letter.about !== undefined) said.changed.set(letter.about, world.serial())
  }

  world.api.subscribe(({ type, object }) => {
    if (object.kind !== 'ConfigMap' || object.metadata.labels?.['meshstep.dev/kind'] === undefined) return
    const event = documentEvent(world, VERBS[type], object)
    send(event, object.data?.application ?? '', `${VERBS[type]} of ${object.metadata.name}`)
  })

  const speak = (fact: Told, time: number): void => {
    said.sequence += 1
    const { sequence } = said
    const by = order(fact)
    // no two events have the same time, and none that is yet to come
    const moment = time - (time % 100) - 100 + (sequence % 100)
    const { side } = fact
    const event: Event = {
      id: `fact-${sequence}`,
      source: by === 'sequence' ? '/platform' : `/platform/${side}`,
      type: eventType(fact),
      subject: `${namespaceOf(side)}/${side}`,
      ...(by === 'time' && { time: new Date(moment).toISOString() }),
      datacontenttype: 'application/json',
      extensions: by === 'sequence' ? { sequence: String(sequence) } : {},
      data: eventData(fact),
    }
    const unordered = by === 'none' ? said.letters.filter((letter) => letter.about === about) : []
    const letter = send(event, side, describeFact(fact), [...unordered, ...firstOf(fact, said)])
    said.words.push({ fact, at: by === 'time' ? moment : sequence, letter })
  }

  const write = (fact: Told): void => {
    const document = documentOf(fact)
    const name = documentName(fact)
    const path = `/api/v1/namespaces/${namespaceOf(fact.side)}/configmaps`
    if (document) {
      said.documents.set(name, { fact, at: world.now() })
      const headers = { 'content-type': 'application/apply-patch+yaml' }
      const body = JSON.stringify(document)
      world.api.handle({ method: 'PATCH', path: `${path}/${name}?fieldManager=kubectl`, headers, body })
      return
    }
    if (!said.documents.has(name)) return
    said.documents.set(name, { fact, at: world.now() })
    world.api.handle({ method: 'DELETE', path: `${path}/${name}`, headers: {} })
  }

  const byHand = (write: () => void): void => {
    isWritingByHand = true
    write()
    isWritingByHand = false
    said.byHand.serial = world.serial()
  }

  const lay = (hand: Hand): void => {
    const touched = findTouched(world, hand)
    if (touched === undefined) return
    world.log(() => `  the ${describeTouched(touched)}`)
    byHand(() => layHand(world, hand, touched))
    said.byHand.undone.push(undoneOf(world, touched))
  }

  world.api.subscribe(({ object }) => {
    const { byHand } = said
    if (isWritingByHand) return
    const undone = byHand.undone.filter((one) => isAsLeft(world, one, object))
    byHand.isMended = undone.length < byHand.undone.length
    byHand.undone = undone
  })

  const backUp = (object: KubernetesObject): void => {
    const application = object.metadata.labels?.['meshstep.dev/application'] ?? ''
    if (object.metadata.name !== memoryName(application)) return
    said.versions.set(application, [...(said.versions.get(application) ?? []), object])
  }
  if (isBackedUp) {
    for (const object of world.api.objects()) backUp(object)
    world.api.subscribe(({ type, object }) => {
      if (type !== 'DELETED' && !isWritingByHand) backUp(object)
    })
  }

  const restore = ({ side, nth }: Extract<Fact, { kind: 'restored' }>): void => {
    const versions = said.versions.get(side) ?? []
    const version = versions[nth % Math.max(versions.length, 1)]
    if (version === undefined) return
    const { name, namespace, labels, annotations } = version.metadata
    const body = JSON.stringify({ ...version, metadata: { name, namespace, labels, annotations } })
    const isThere = objectNamed(world.api, 'ConfigMap', name, namespace) !== undefined
    const path = isThere ? memoryPath(side) : memoryPath(side).replace(/\/[^/]*$/, '')
    const headers = { 'content-type': 'application/json' }
    said.isOutdated = true
    byHand(() => world.api.handle({ method: isThere ? 'PUT' : 'POST', path, headers, body }))
  }

  return {
    said,
    byHand,
    isWritingByHand: () => isWritingByHand,
    say: (fact, time) => {
      world.advance(1_000)
      world.log(() => `-- ${describeFact(fact)}`)
      sent = []
      said.facts.push(fact)
      if (fact.kind === 'forgotten') {
        world.api.handle({ method: 'DELETE', path: memoryPath(fact.side), headers: {} })
        return sent
      }
      if (fact.kind === 'restored') {
        restore(fact)
        return sent
      }
      if (fact.kind === 'hand') {
        lay(fact.hand)
        return sent
      }
      about = aboutOf(fact)
      said.changed.set(about, world.serial())
      if (fact.form === 'document') write(fact)
      else speak(fact, time ?? world.now() + skew(fact.side))
      return sent
    },
  }
}

/** An event as Knative's ApiServerSource sends it in mode Resource. */
const documentEvent = (world: World, verb: string, object: KubernetesObject): Event => ({
  id: world.newId(),
  source: 'https://10.96.0.1:443',
  type: `dev.knative.apiserver.resource.${verb}`,
  subject: `/apis/v1/namespaces/${object.metadata.namespace}/configmaps/${object.metadata.name}`,
  time: new Date(world.now()).toISOString(),
  datacontenttype: 'application/json',
  extensions: {
    apiversion: 'v1',
    kind: 'ConfigMap',
    name: object.metadata.name,
    namespace: object.metadata.namespace ?? '',
  },
  data: object,
})
