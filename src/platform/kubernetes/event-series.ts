import * as z from 'zod'
import { isVersionConflict } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { microTime } from './event-fields.ts'
import type { KubernetesObject } from './objects.ts'

const Known = z.object({
  eventTime: z.string().nullish(),
  series: z.object({ count: z.int(), lastObservedTime: z.string() }).nullish().catch(undefined),
})

type Occurrence = {
  readonly manager: string
  readonly now: Date
  /** The number of occurrences since the last record. */
  readonly met?: number
  /** An Event that was written more recently stays as it is. */
  readonly quietMilliseconds?: number
}

/**
 * Creates an Event, or adds to the series of the existing one. Resolves to false if that was written recently. The rights allow neither reading Events nor
 * other changes: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export const recordEvent = async (
  kubernetes: Kubernetes,
  event: KubernetesObject,
  { manager, now, met = 1, quietMilliseconds = 0 }: Occurrence,
): Promise<boolean> => {
  try {
    await kubernetes.create(event, manager)
    return true
  } catch (error) {
    if (!isVersionConflict(error)) throw error
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await addToSeries(kubernetes, event, { manager, now, met, quietMilliseconds })
    } catch (error) {
      // another process has counted it meanwhile
      if (!isVersionConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}

const MOST_TRIES = 5

const addToSeries = async (
  kubernetes: Kubernetes,
  { metadata: { namespace, name } }: KubernetesObject,
  { manager, now, met, quietMilliseconds }: Required<Occurrence>,
): Promise<boolean> => {
  const reference = { kind: 'Event' as const, namespace, name }
  // an empty patch returns the existing object
  const found = await kubernetes.patch(reference, [], manager)
  const { eventTime, series } = Known.catch({}).parse(found)
  const last = Date.parse(series?.lastObservedTime ?? eventTime ?? '')
  if (now.getTime() - last < quietMilliseconds) return false
  const value = { count: (series?.count ?? 1) + met, lastObservedTime: microTime(now) }
  const { resourceVersion } = found.metadata
  await kubernetes.patch(
    reference,
    [
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      { op: 'add', path: '/series', value },
    ],
    manager,
  )
  return true
}
