import { Refused } from '../../platform/base/errors.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { ObjectName } from '../../platform/base/names.ts'
import { ApiError, ifPermitted, isFailure, isNotFound, isNotPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { groupOf, isKind, type KubernetesObject, objectKey, type Reference } from '../../platform/kubernetes/objects.ts'
import type { PlannedCluster } from './cluster/planned-cluster.ts'
import { KUBECTL, takenOver } from './last-applied.ts'

/** Writes an object as kubectl does. Resolves to remarks. Rejects with Refused, 400, if the API server would refuse it. */
type Writer = (object: KubernetesObject) => Promise<readonly string[]>

/** Creates a writer that applies objects to a planned cluster, or deletes them. `asking` makes dry runs of what is applied. */
export const createWriter =
  (planned: PlannedCluster, asking: Pick<Kubernetes, 'apply'>, isDeletion: boolean): Writer =>
  async (object) => {
    const { kind, metadata } = object
    if (!isKind(kind)) throw new Refused(400, 'a plan knows no objects of this kind')
    const reference = {
      kind,
      namespace: metadata.namespace,
      name: parseInput(ObjectName, metadata.name, 'metadata.name'),
    }
    try {
      await requireServed(planned.kubernetes, object, reference)
      if (isDeletion || metadata.deletionTimestamp !== undefined) {
        await remove(planned.kubernetes, reference)
        return []
      }
      const answer = await tried(planned, asking, object, reference)
      await apply(planned, object, reference, answer)
      return 'doubt' in answer ? [`it is not known if the API server takes ${objectKey(object)}: ${answer.doubt}`] : []
    } catch (error) {
      throw error instanceof ApiError ? new Refused(400, tellable(error, object), { cause: error }) : error
    }
  }

/** Returns the message of an error. That about a Secret may quote its values. */
const tellable = ({ message, status, reason }: ApiError, { kind }: KubernetesObject): string =>
  kind === 'Secret' ? `the API server refuses it with ${status} ${reason}` : message

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

type Answer = { readonly object: KubernetesObject } | { readonly doubt: string }

/**
 * Makes a dry run. It is not known what the API server would do if whoever asks may not ask it, if a webhook fails, or if the object or its namespace is
 * otherwise after what the plan did before.
 */
const tried = async (
  { kubernetes, before }: PlannedCluster,
  asking: Pick<Kubernetes, 'apply'>,
  object: KubernetesObject,
  reference: Reference,
): Promise<Answer> => {
  if ((await kubernetes.find(reference)) !== before(reference)) return { doubt: 'this plan has changed it before' }
  try {
    return { object: await asking.apply(object, KUBECTL, { force: true, dryRun: true }) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401 || isNotPermitted(error) || isFailure(error)) return { doubt: tellable(error, object) }
    const home = { kind: 'Namespace', name: reference.namespace } as const
    if (isNotFound(error) && home.name && (await kubernetes.find(home)) !== before(home))
      return { doubt: 'its namespace is only planned' }
    throw error
  }
}

/** Applies as the API server answered, which has defaults and what admission changes. It knows nothing of what client-side apply left. */
const apply = async (
  { kubernetes, take }: PlannedCluster,
  object: KubernetesObject,
  reference: Reference,
  answer: Answer,
): Promise<void> => {
  const found = await kubernetes.find(reference)
  const managedFields = found && takenOver(found)
  if (managedFields === undefined && 'object' in answer) return await take(answer.object)
  const taking = { op: 'add', path: '/metadata/managedFields', value: managedFields } as const
  if (managedFields) await kubernetes.patch(reference, [taking], KUBECTL)
  await kubernetes.apply(object, KUBECTL, { force: true })
}

const remove = async (planned: Kubernetes, reference: Reference): Promise<void> => {
  const found = await planned.find(reference)
  if (found === undefined) throw new Refused(400, 'it does not exist')
  if (reference.kind === 'Namespace')
    throw new Refused(400, 'a plan does not follow the objects that are deleted with it: name each of them instead')
  await planned.remove(found)
}
