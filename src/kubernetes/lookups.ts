import { describeRefusal, isForbidden } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { type KubernetesObject, nameOf, type Reference } from './objects.ts'

/** An object of others: undefined where there is none, or why it cannot be read. */
export type Lookup = KubernetesObject | { readonly problem: string } | undefined

/** The objects of others that a decision depends on, by `nameOf`. */
export type Lookups = ReadonlyMap<string, Lookup>

/** Reads each of the objects once. One that may not be read is no reason to leave undone what does not depend on it. */
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

/** The object of this name, where there is one that can be read. */
export const findLookup = (lookups: Lookups, name: string): KubernetesObject | undefined => {
  const fact = lookups.get(name)
  return fact === undefined || 'problem' in fact ? undefined : (fact as KubernetesObject)
}

/** Whether the object of this name cannot be read: whether there is one is not known. */
export const isUnreadable = (lookups: Lookups, name: string): boolean => findProblem(lookups, name) !== undefined

const findProblem = (lookups: Lookups, name: string): string | undefined => {
  const fact = lookups.get(name)
  return fact !== undefined && 'problem' in fact ? String(fact.problem) : undefined
}

/** Why objects cannot be read. */
export const listProblems = (lookups: Lookups): string[] =>
  [...lookups.keys()].flatMap((name) => findProblem(lookups, name) ?? [])
