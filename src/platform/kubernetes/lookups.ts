import { describeRefusal, isForbidden } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { type KubernetesObject, nameOf, objectKey, type Reference } from './objects.ts'

/** A foreign object. It is undefined if it does not exist, and has the reason if it cannot be read. */
export type Lookup = KubernetesObject | { readonly problem: string } | undefined

/** The foreign objects that a step depends on, by `nameOf`. */
export type Lookups = ReadonlyMap<string, Lookup>

/** Names the objects to read. What was read already may name further ones. */
export type ListLookups = (seen: Lookups) => readonly Reference[]

/**
 * Reads each object once, until `list` names no further one. A missing permission becomes a problem, so that independent work goes on. Objects in
 * `seen` are not read again.
 */
export const observeLookups = async (
  kubernetes: Pick<Kubernetes, 'find'>,
  list: ListLookups,
  seen: Lookups = new Map(),
): Promise<Lookups> => {
  const missing = list(seen).filter((reference) => !seen.has(nameOf(reference)))
  if (missing.length === 0) return seen
  return await observeLookups(kubernetes, list, new Map([...seen, ...(await readAll(kubernetes, missing))]))
}

const readAll = async (kubernetes: Pick<Kubernetes, 'find'>, references: readonly Reference[]): Promise<Lookups> => {
  const distinct = new Map(references.map((reference) => [nameOf(reference), reference]))
  const look = async (reference: Reference): Promise<Lookup> => {
    try {
      return await kubernetes.find(reference)
    } catch (error) {
      if (isForbidden(error)) return { problem: describeRefusal(error) }
      throw error
    }
  }
  return new Map(
    await Promise.all([...distinct].map(async ([name, reference]) => [name, await look(reference)] as const)),
  )
}

/** Makes lookups of objects that were read already. */
export const lookupsOf = (objects: readonly KubernetesObject[]): Lookups =>
  new Map(objects.map((object) => [objectKey(object), object]))

/** Finds a readable object by name. */
export const findLookup = (lookups: Lookups, name: string): KubernetesObject | undefined => {
  const fact = lookups.get(name)
  return fact === undefined || 'problem' in fact ? undefined : (fact as KubernetesObject)
}

/** Tells if the object of this name cannot be read, so that its existence is unknown. */
export const isUnreadable = (lookups: Lookups, name: string): boolean => findProblem(lookups, name) !== undefined

const findProblem = (lookups: Lookups, name: string): string | undefined => {
  const fact = lookups.get(name)
  return fact !== undefined && 'problem' in fact ? String(fact.problem) : undefined
}

/** Lists the reasons why objects cannot be read. */
export const listProblems = (lookups: Lookups): string[] =>
  [...lookups.keys()].flatMap((name) => findProblem(lookups, name) ?? [])
