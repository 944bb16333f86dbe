import { ApiError, isForbidden, isNotFound } from '../kubernetes/api-error.ts'
import { isRefusal, referenceTo } from '../kubernetes/apply-objects.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'
import { appliers } from '../kubernetes/ownership.ts'
import type { Subject } from '../state.ts'
import type { PodWorkload } from './config.ts'
import { workloadManager, workloadObjects } from './objects.ts'
import { refusalOf } from './refusal.ts'

/** What came of a trial: why the API server would refuse the workload, or why it could not be asked. */
export type Verdict = { readonly refused: string } | { readonly untried: string } | undefined

/**
 * Has the API server judge what a workload is made of, before anything of it is remembered: each object is applied as a dry run. Rejects
 * with Unavailable where nobody answers.
 */
export const tryWorkload = async (
  kubernetes: Kubernetes,
  subject: Subject,
  workload: PodWorkload,
): Promise<Verdict> => {
  const verdicts = await Promise.all(
    workloadObjects(subject, workload).map((object) => tryObject(kubernetes, subject, workload, object)),
  )
  const refused = verdicts.find((verdict) => verdict && 'refused' in verdict)
  return refused ?? verdicts.find((verdict) => verdict !== undefined)
}

const tryObject = async (
  kubernetes: Kubernetes,
  subject: Subject,
  workload: PodWorkload,
  object: KubernetesObject,
): Promise<Verdict> => {
  const manager = workloadManager(subject.application)
  try {
    await kubernetes.apply(object, manager, { force: true, dryRun: true })
    return undefined
  } catch (error) {
    if (isForbidden(error) && !isRefusal(error)) return { untried: untried(object, error) }
    if (!(error instanceof ApiError)) throw error
    // what is not there, or not ours, is told when it is applied
    if (!isRefusal(error) || isNotFound(error) || (await isOthers(kubernetes, object, manager))) return undefined
    return { refused: `${refusalOf(error, object.kind, workload)}: ${status(error)}` }
  }
}

const untried = (object: KubernetesObject, error: unknown): string =>
  `${nameOf({ kind: object.kind, ...object.metadata })} could not be tried before it was remembered: ${(error as Error).message}`

/** The answer's own status, for those who look it up. */
const status = ({ status, reason }: ApiError): string =>
  `refused by the API server with ${[status, reason].join(' ').trim()}`

const isOthers = async (kubernetes: Kubernetes, object: KubernetesObject, manager: string): Promise<boolean> => {
  const live = await kubernetes.find(referenceTo(object))
  return live !== undefined && !appliers(live).includes(manager)
}
