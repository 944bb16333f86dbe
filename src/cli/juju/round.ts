import { DOCUMENT_LABEL } from '../../platform/cloudevents/knative/document.ts'
import { ApiError, describeRefusal } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { Failure } from '../failure.ts'
import {
  type ApplySet,
  LostRace,
  MOST_ATTEMPTS,
  PARENT,
  planSet,
  readApplySet,
  type SetPlan,
  type Write,
  writeParent,
  writeSet,
} from './apply-set.ts'
import type { Answer } from './ask.ts'
import { type Derived, type DeriveOptions, deriveDocuments, type Unclear } from './documents.ts'
import { IDENTITY_ENDPOINT, identityId } from './identities.ts'
import { namespaceOf, runsOnMachines } from './model.ts'
import type { Model } from './parse-output.ts'

/** The writes that a model asks for. Nothing is written yet. */
export type RoundPlan = {
  readonly namespace: string
  readonly set: ApplySet
  /** The UUID of the model. */
  readonly model: string | undefined
  readonly plan: SetPlan
  /** The applications of the model. */
  readonly applications: readonly string[]
  /** The applications that were there, and are gone. */
  readonly gone: readonly string[]
  readonly notes: readonly string[]
  readonly unknown: readonly string[]
}

/** The effect of a round. */
export type Round = Pick<RoundPlan, 'namespace' | 'notes' | 'unknown'> & {
  readonly writes: readonly Write[]
  /** The applications whose end was told. */
  readonly ended: readonly string[]
  /** Sentences about what could not be done, each with what to do. The next round tries it again. */
  readonly failures: readonly string[]
}

/** Compares a model with the documents of its namespace. Rejects with Failure if they cannot be read, or if the model has no namespace. */
export const planRound = async (kubernetes: Kubernetes, answer: Answer, options: DeriveOptions): Promise<RoundPlan> => {
  const [model] = answer.models
  if (runsOnMachines(model))
    throw new Failure(`model ${model.name}: its applications run on machines, and are on no mesh of a cluster`)
  const namespace = namespaceOf(model)
  const derived = deriveDocuments(model, answer.models, { ...options, configs: answer.configs, isAll: true })
  const set = await readable(readApplySet(kubernetes, namespace))
  if (set.model !== undefined && set.model !== model.uuid) throw new Failure(anotherModel(set, model))
  const applications = Object.keys(model.status.applications)
  const unasked = set.members.filter((member) => isUnasked(member, applications, answer.configs))
  const isKept = (member: KubernetesObject) =>
    unasked.includes(member) || derived.unclear.some((one) => isAbout(member, one))
  return {
    namespace,
    model: model.uuid,
    set,
    applications,
    plan: planSet(set, derived.documents, isKept),
    gone: goneFrom(set, model),
    notes: [...derived.notes, ...unasked.map(staysOf)],
    unknown: withReasons(derived, answer),
  }
}

/** Tells if a document is the config of an application for which no option was asked. Its end is not for a run to tell that was not asked about it. */
const isUnasked = (
  { metadata, data = {} }: KubernetesObject,
  applications: readonly string[],
  configs: Answer['configs'],
): boolean => {
  const { application = '' } = data
  return (
    metadata.labels?.[DOCUMENT_LABEL] === 'config' && applications.includes(application) && !configs.has(application)
  )
}

const staysOf = (member: KubernetesObject): string =>
  `${objectKey(member)} stays, as --config names no option of ${member.data?.application}: delete it to remove the config`

const anotherModel = ({ namespace, model: former }: ApplySet, { name, address = name, uuid }: Model): string =>
  `the documents of namespace ${namespace} follow the model ${former}, and ${address} is another one, ${uuid}: nothing is changed; name the right controller with --model CONTROLLER:MODEL, or, if this model is to be followed from now on, kubectl delete configmap -n ${namespace} ${PARENT}`

/** Adds the reasons why models could not be read, if something is not known without them. */
const withReasons = ({ unknown }: Derived, { notes }: Answer): string[] =>
  unknown.length > 0 ? [...unknown, ...notes] : []

const goneFrom = ({ applications }: ApplySet, { status }: Model): string[] =>
  applications.filter((name) => !Object.hasOwn(status.applications, name))

/** Tells if a document may be about a part of the model that is not clear. */
const isAbout = ({ metadata, data = {} }: KubernetesObject, unclear: Unclear): boolean => {
  if (metadata.labels?.[DOCUMENT_LABEL] === 'config') {
    if ('config' in unclear) return unclear.config === data.application
    return 'application' in unclear && unclear.endpoint === undefined && unclear.application === data.application
  }
  if ('config' in unclear) return false
  try {
    const [relation, remote] = [JSON.parse(data.relation ?? ''), JSON.parse(data.remote ?? '')]
    if ('id' in unclear) return [unclear.id, identityId(unclear.id)].includes(relation.id)
    const own = { application: data.application, endpoint: relation.endpoint }
    const pairs =
      remote.namespace === undefined ? [[own, remote] as const, [remote, own] as const] : [[own, {}] as const]
    return pairs.some(
      ([side, peer]) =>
        side.application === unclear.application &&
        (unclear.endpoint === undefined || [unclear.endpoint, IDENTITY_ENDPOINT].includes(side.endpoint)) &&
        (unclear.peer === undefined || peer.application === unclear.peer),
    )
  } catch {
    // somebody has changed it, and it may be about anything
    return true
  }
}

/** Plans a round and carries it out. If another run has written since the plan was made, it plans anew. */
export const takeRound = async (
  kubernetes: Kubernetes,
  answer: Answer,
  options: DeriveOptions,
  tellEnd: (namespace: string, application: string) => Promise<void>,
): Promise<Round> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      const planned = await planRound(kubernetes, answer, options)
      return await carryOut(kubernetes, planned, (application) => tellEnd(planned.namespace, application))
    } catch (error) {
      if (!(error instanceof LostRace) || attempt === MOST_ATTEMPTS) throw error
    }
}

/**
 * Brings the documents of a model's namespace to the model, and tells the ends of applications. What is to be told is noted before anything else is
 * written, and forgotten once it was told: a round that is cut short is made up for by the next one.
 */
const carryOut = async (
  kubernetes: Kubernetes,
  { namespace, set, model, plan, applications, gone, notes, unknown }: RoundPlan,
  tellEnd: (application: string) => Promise<void>,
): Promise<Round> => {
  const parent = await readable(
    writeParent(kubernetes, set, [...new Set([...set.applications, ...applications])], model),
  )
  const writes = await writeSet(kubernetes, plan)
  const failures: string[] = []
  const ended: string[] = []
  for (const application of gone)
    try {
      await tellEnd(application)
      ended.push(application)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      failures.push(`${namespace}/${application} is gone from the model, and its end is not told: ${error.message}`)
    }
  const left = [...applications, ...gone.filter((name) => !ended.includes(name))]
  if (ended.length > 0) await unlessLost(readable(writeParent(kubernetes, { ...set, parent }, left, model)))
  const problems = writes.flatMap((write) => ('problem' in write ? [write.problem] : []))
  return { namespace, notes, unknown, ended, writes, failures: [...problems, ...failures] }
}

/** Lets another run win: an end that is not forgotten is told once more by the next round, which changes nothing. */
const unlessLost = async (writing: Promise<unknown>): Promise<void> => {
  try {
    await writing
  } catch (error) {
    if (!(error instanceof LostRace)) throw error
  }
}

const readable = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Failure(describeRefusal(error), 1, { cause: error })
  }
}
