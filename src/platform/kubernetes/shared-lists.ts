import { Unavailable } from '../base/errors.ts'
import type { KubernetesObject } from './objects.ts'

/** Reduces a page to the part that is kept. */
export type Keep<T> = (objects: KubernetesObject[]) => T | Promise<T>

/** Reads a list page by page. Resolves to the kept parts. */
type ReadList = <T>(of: Keep<T>) => Promise<T[]>

/** Reads a list together with all callers that wait for the same one. It keeps the result of `of` for each page. */
export type ShareLists = <T>(list: string, read: ReadList, of: Keep<T>) => Promise<T[]>

/** The limit of lists that are read at a time. A page of each is in memory, as text and as objects. */
const AT_ONCE = 3

type Waiting = {
  readonly read: ReadList
  readonly of: Keep<unknown>
  resolve(pages: unknown[]): void
  reject(error: unknown): void
}

/**
 * Shares lists between concurrent readers. No caller gets a list that began before its call: callers during a read wait together for the next one. A list
 * that fails may have had less time left than the others, so they start another one.
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
      // the turn goes to the next one directly, so that no new caller takes it
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

/** Reads a list for all current callers, with the client of the first. */
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

/** Passes a page to each caller, and collects the kept parts. A caller that fails on a page fails alone. */
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
