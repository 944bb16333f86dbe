import { Unavailable } from '../base/errors.ts'
import type { KubernetesObject } from './objects.ts'

/** Makes of a page what is kept of it. */
export type Keep<T> = (objects: KubernetesObject[]) => T | Promise<T>

/** Reads a list a page at a time, and answers with what was kept of each. */
type ReadList = <T>(of: Keep<T>) => Promise<T[]>

/** Reads a list together with all who wait for the same, and keeps of each page what `of` makes of it. */
export type ShareLists = <T>(list: string, read: ReadList, of: Keep<T>) => Promise<T[]>

/** Bounds the lists that are read at a time: a page of each is in memory as text and as objects. */
const AT_ONCE = 3

type Waiting = {
  readonly read: ReadList
  readonly of: Keep<unknown>
  resolve(pages: unknown[]): void
  reject(error: unknown): void
}

/**
 * Shares lists between those who read them at the same time. Nobody gets one that was begun before it was asked for: who comes while a list is
 * read waits for the next one, together with all who came meanwhile. One that fails may have had less time left than they have: they begin another.
 */
export const createSharedLists = (atOnce = AT_ONCE): ShareLists => {
  const lists = new Map<string, Waiting[]>()
  const turns: (() => void)[] = []
  let reading = 0

  const inTurn = async <T>(act: () => Promise<T>): Promise<T> => {
    if (reading < atOnce) reading += 1
    else await new Promise<void>((resolve) => void turns.push(resolve))
    try {
      return await act()
    } finally {
      // a turn is handed on: nobody comes between
      const next = turns.shift()
      if (next) next()
      else reading -= 1
    }
  }

  const drain = async (list: string, waiting: Waiting[]): Promise<void> => {
    while (waiting.length > 0) await inTurn(() => readNext(waiting))
    lists.delete(list)
  }

  return <T>(list: string, read: ReadList, of: Keep<T>) =>
    new Promise<T[]>((resolve, reject) => {
      const known = lists.get(list)
      const waiting = known ?? []
      waiting.push({ read, of, resolve: (pages) => resolve(pages as T[]), reject })
      if (known) return
      lists.set(list, waiting)
      void drain(list, waiting)
    })
}

/** Reads a list for all who wait by now, with the client of the first. */
const readNext = async (waiting: Waiting[]): Promise<void> => {
  const together = waiting.splice(0)
  const [first, ...others] = together
  const failures = new Map<Waiting, unknown>()
  try {
    const pages = (await first?.read((objects) => keptOf(objects, together, failures))) ?? []
    for (const [index, one] of together.entries()) {
      if (failures.has(one)) one.reject(failures.get(one))
      else one.resolve(pages.map((kept) => kept[index]))
    }
  } catch (error) {
    first?.reject(error)
    if (error instanceof Unavailable) waiting.unshift(...others)
    else for (const one of others) one.reject(error)
  }
}

/** Passes a page to each, and answers with what they keep of it; who fails at one fails alone. */
const keptOf = async (
  objects: KubernetesObject[],
  together: readonly Waiting[],
  failures: Map<Waiting, unknown>,
): Promise<unknown[]> => {
  const kept: unknown[] = []
  for (const one of together) {
    const keeping = failures.has(one) ? undefined : Promise.resolve(objects).then(one.of)
    kept.push(await keeping?.catch((error: unknown) => void failures.set(one, error)))
  }
  return kept
}
