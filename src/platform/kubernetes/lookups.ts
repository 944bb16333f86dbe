import { describeRefusal, isForbidden } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { type KubernetesObject, nameOf, type Reference } from './objects.ts'

/** A foreign object. It is undefined if it does not exist, and has the reason if it cannot be read. */
export type Lookup = KubernetesObject | { readonly problem: string } | undefined

/** The foreign objects that a step depends on, by `nameOf`. */
export type Lookups = ReadonlyMap<string, Lookup>

/** Reads each object once. A missing permission becomes a problem, so that independent work goes on. */
export const observeLookups = async (kubernetes: Kubernetes, references: readonly Reference[]): Promise<Lookups> => {
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
