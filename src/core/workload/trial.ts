import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import {
  ApiError,
  isDenied,
  isFailure,
  isForbidden,
  isNotFound,
  isNotPermitted,
  isRefusal,
  describeRefusal as readRefusal,
} from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listAppliers } from '../../platform/kubernetes/field-managers.ts'
import { type KubernetesObject, objectKey, referenceTo } from '../../platform/kubernetes/objects.ts'
import { accountOf, isAccountOurs, type PodWorkload } from './config.ts'
import { nameProblem } from './names.ts'
import { managerOf, workloadManager, workloadObjects } from './objects.ts'
import { explainRefusal } from './refusal.ts'

/** The result of a dry run: the API server's refusal, or a note for the sender. */
export type TrialResult = { readonly refused: string } | { readonly note: string } | undefined

/** Tries the objects of a workload as a dry run, before any of them is remembered. Rejects with Unavailable if the API server does not respond. */
export const tryWorkload = async (
  kubernetes: Kubernetes,
  subject: Subject,
  workload: PodWorkload,
): Promise<TrialResult> => {
  const misnamed = nameProblem(subject.application, workload)
  if (misnamed !== undefined) return { refused: `data.config.${misnamed}` }
  const verdicts = await Promise.all([
    ...workloadObjects(subject, workload).map((object) => tryObject(kubernetes, subject, workload, object)),
    tryAccount(kubernetes, subject, workload),
  ])
  const refused = verdicts.find((verdict) => verdict && 'refused' in verdict)
  return refused ?? verdicts.find((verdict) => verdict !== undefined)
}

/** The label of objects in meshstep's manifests, including the account of the functions. */
const PART_OF = 'app.kubernetes.io/part-of'

/** Checks the account of a workload. Without it, no pod is created. No pod may run as the functions, with all their permissions. */
const tryAccount = async (
  kubernetes: Kubernetes,
  { namespace, application }: Subject,
  workload: PodWorkload,
): Promise<TrialResult> => {
  const name = accountOf(application, workload)
  const account = await kubernetes.find({ kind: 'ServiceAccount', namespace, name }).catch((error: unknown) => {
    if (isNotPermitted(error)) return error as ApiError
    throw error
  })
  if (account instanceof ApiError)
    return { refused: `${readRefusal(account)}: it is not known whether the workload would run as the functions do` }
  if (ownValue(account?.metadata.labels, PART_OF) === 'meshstep')
    return { refused: `ServiceAccount ${namespace}/${name} is the functions' own: no workload may run as it` }
  const isOurs = isAccountOurs(workload)
  // the account of another application or a person may have more rights
  if (account !== undefined && isOurs && name !== application && !isMadeBy(application, account))
    return {
      refused: `ServiceAccount ${namespace}/${name} belongs to another owner: name it in the pod spec only, without serviceAccount, and send the config as a user that may impersonate it`,
    }
  if (account !== undefined || isOurs) return undefined
  const way = 'there are no pods before it does; with serviceAccount in the workload it is made'
  return { note: `ServiceAccount ${namespace}/${name}, which the pod spec names, does not exist: ${way}` }
}

const isMadeBy = (application: string, account: KubernetesObject): boolean =>
  listAppliers(account).includes(workloadManager(application))

const tryObject = async (
  kubernetes: Kubernetes,
  subject: Subject,
  workload: PodWorkload,
  object: KubernetesObject,
): Promise<TrialResult> => {
  const manager = managerOf(subject, object.kind)
  try {
    await kubernetes.apply(object, manager, { force: true, dryRun: true })
    return undefined
  } catch (error) {
    // a quota, or a namespace being deleted, is not a fault of the spec
    if (isFailure(error) || (isForbidden(error) && !isDenied(error))) return { note: untried(object, error) }
    if (!(error instanceof ApiError)) throw error
    // a missing object, or one of another owner, is reported when it is applied
    if (!isRefusal(error) || isNotFound(error) || (await isOthers(kubernetes, object, manager))) return undefined
    return { refused: `${explainRefusal(error, object.kind, workload)}: ${status(error)}` }
  }
}

const untried = (object: KubernetesObject, error: unknown): string =>
  `${objectKey(object)} could not be tried before it was remembered: ${(error as Error).message}`

/** Formats the HTTP status and reason, so that people can search for them. */
const status = ({ status, reason }: ApiError): string =>
  `refused by the API server with ${[status, reason].join(' ').trim()}`

const isOthers = async (kubernetes: Kubernetes, object: KubernetesObject, manager: string): Promise<boolean> => {
  const live = await kubernetes.find(referenceTo(object))
  return live !== undefined && !listAppliers(live).includes(manager)
}
