import { labelSelector } from '../../../src/embedded/api/select.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

/** Reads objects as a client of an API server does, and writes none. */
export const reading = (objects: readonly KubernetesObject[]): Kubernetes => {
  const list: Kubernetes['list'] = async (kind, namespace, selector = '') => {
    const isSelected = labelSelector(selector)
    return objects.filter(
      (one) =>
        one.kind === kind &&
        (namespace === undefined || one.metadata.namespace === namespace) &&
        isSelected(one.metadata.labels ?? {}),
    )
  }
  const nothing = async () => Promise.reject(new Error('nothing is written'))
  return {
    memo: createMemo(),
    yieldTurn: async () => undefined,
    answered: () => 0,
    find: async ({ kind, namespace, name }) =>
      objects.find((one) => one.kind === kind && one.metadata.namespace === namespace && one.metadata.name === name),
    list,
    listCached: list,
    pages: async (kind, namespace, selector, of) => [await of(await list(kind, namespace, selector))],
    keep: () => undefined,
    ...{ create: nothing, replace: nothing, apply: nothing, patch: nothing, remove: nothing },
  }
}
