import { Refused } from '../../platform/base/errors.ts'
import { ApiError, ifPermitted, isFailure, isNotFound, isNotPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { groupOf, isKind, type KubernetesObject, objectKey, type Reference } from '../../platform/kubernetes/objects.ts'
import { KUBECTL, takenOver } from './client-side.ts'

/** Writes an object as kubectl does. Resolves to remarks. Rejects with Refused, 400, if the API server would refuse it. */
type Writer = (object: KubernetesObject) => Promise<readonly string[]>

/** Creates a writer that applies objects to `planned`, or deletes them. `asking` makes dry runs of what is applied. */
export const createWriter =
  (planned: Kubernetes, asking: Pick<Kubernetes, 'apply'>, isDeletion: boolean): Writer =>
  async (object) => {
    const { kind, metadata } = object
    if (!isKind(kind)) throw new Refused(400, 'a plan knows no objects of this kind')
    const reference = { kind, namespace: metadata.namespace, name: metadata.name }
    try {
      await requireServed(planned, object, reference)
      if (isDeletion || metadata.deletionTimestamp !== undefined) {
        await remove(planned, reference)
        return []
      }
      const doubt = await tried(planned, asking, object)
      await apply(planned, object, reference)
      return doubt === undefined ? [] : [`it is not known if the API server takes ${objectKey(object)}: ${doubt}`]
    } catch (error) {
      throw error instanceof ApiError ? new Refused(400, error.message, { cause: error }) : error
    }
  }

/** Rejects if the cluster serves no objects of a kind that is not Kubernetes' own: of these, only a list tells for certain. */
const requireServed = async (
  planned: Kubernetes,
  { apiVersion }: KubernetesObject,
  { kind, namespace }: Reference,
): Promise<void> => {
  if (!groupOf(kind).includes('.')) return
  const listing = planned.list(kind, namespace).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new Refused(400, `the cluster serves no objects of ${apiVersion}, kind ${kind}`, { cause: error })
  })
  await ifPermitted(listing)
}

/** Makes a dry run. Resolves to why its result is not known: who asks may not, a webhook fails, or the namespace is only planned. */
const tried = async (
  planned: Kubernetes,
  asking: Pick<Kubernetes, 'apply'>,
  object: KubernetesObject,
): Promise<string | undefined> => {
  try {
    await asking.apply(object, KUBECTL, { force: true, dryRun: true })
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const home = object.metadata.namespace
    const isPlanned = isNotFound(error) && home && (await planned.find({ kind: 'Namespace', name: home }))
    if (error.status === 401 || isNotPermitted(error) || isFailure(error) || isPlanned) return error.message
    throw error
  }
}

const apply = async (planned: Kubernetes, object: KubernetesObject, reference: Reference): Promise<void> => {
  const found = await planned.find(reference)
  const managedFields = found && takenOver(found)
  const taking = { op: 'add', path: '/metadata/managedFields', value: managedFields } as const
  if (managedFields) await planned.patch(reference, [taking], KUBECTL)
  await planned.apply(object, KUBECTL, { force: true })
}

const remove = async (planned: Kubernetes, reference: Reference): Promise<void> => {
  const found = await planned.find(reference)
  if (found === undefined) throw new Refused(400, 'it does not exist')
  if (reference.kind === 'Namespace')
    throw new Refused(400, 'a plan does not follow the objects that are deleted with it: name each of them instead')
  await planned.remove(found)
}
