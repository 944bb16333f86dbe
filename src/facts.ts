import type { Kubernetes } from './kubernetes/client.ts'
import { type KubernetesObject, nameOf, type Reference } from './kubernetes/objects.ts'

/** What is seen of objects of others that a decision depends on, by `nameOf`; undefined where there is none. */
export type Facts = ReadonlyMap<string, KubernetesObject | undefined>

/** Reads each of the objects once. */
export const observeFacts = async (kubernetes: Kubernetes, references: readonly Reference[]): Promise<Facts> => {
  const distinct = new Map(references.map((reference) => [nameOf(reference), reference]))
  return new Map(
    await Promise.all(
      [...distinct].map(async ([name, reference]) => [name, await kubernetes.find(reference)] as const),
    ),
  )
}
