import { createHash } from 'node:crypto'
import about from '../../../package.json' with { type: 'json' }
import { Application } from '../../platform/base/names.ts'
import { DOCUMENT_SELECTOR } from '../../platform/cloudevents/knative/document.ts'
import { ApiError, describeRefusal, isNotFound, isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import { isApplied } from '../../platform/kubernetes/applied.ts'
import { applyObject, namesakeConflict, objectKey } from '../../platform/kubernetes/apply-objects.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listAppliers } from '../../platform/kubernetes/field-managers.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { Failure } from '../failure.ts'
import type { JujuDocument } from './documents.ts'

/** The field manager of the documents and of their parent. */
export const MANAGER = 'meshstep-juju'

/** The name of the parent. Its data hold the UUID of the model, and the applications that it had when it was read last. */
export const PARENT = 'meshstep-juju'

/** https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune */
const ID = 'applyset.kubernetes.io/id'
const PART_OF = 'applyset.kubernetes.io/part-of'
const TOOLING = 'applyset.kubernetes.io/tooling'
const KINDS = 'applyset.kubernetes.io/contains-group-kinds'

/** Returns the id of the set: a hash of its parent's name, namespace, kind and group. */
export const applySetId = (namespace: string): string =>
  `applyset-${createHash('sha256').update(`${PARENT}.${namespace}.ConfigMap.`).digest('base64url')}-v1`

/** The set as it is: its parent, the applications that were there, and its members, each a document of this manager or handed over to it. */
export type ApplySet = {
  readonly namespace: string
  readonly parent: KubernetesObject | undefined
  /** The UUID of the model that the set follows, once it is known. */
  readonly model: string | undefined
  readonly applications: readonly string[]
  readonly members: readonly KubernetesObject[]
}

/** Reads the set of a namespace. Rejects with Failure if its parent is somebody else's. */
export const readApplySet = async (kubernetes: Kubernetes, namespace: string): Promise<ApplySet> => {
  const parent = await kubernetes.find({ kind: 'ConfigMap', namespace, name: PARENT })
  if (parent !== undefined && !isOurs(parent))
    throw new Failure(
      `ConfigMap ${namespace}/${PARENT} belongs to ${listAppliers(parent).join(', ') || 'somebody else'}: nothing is changed; rename it, or delete it`,
    )
  const members = await kubernetes.list('ConfigMap', namespace, `${PART_OF}=${applySetId(namespace)}`)
  const documents = await kubernetes.list('ConfigMap', namespace, DOCUMENT_SELECTOR)
  // somebody may have taken the label of the set off a document of ours, which then would stand for ever
  const names = new Set(members.map(({ metadata }) => metadata.name))
  const loose = documents.filter((one) => isOurs(one) && !names.has(one.metadata.name))
  return {
    namespace,
    parent,
    model: parent?.data?.model,
    applications: applicationsIn(parent, members.filter(isOurs)),
    members: [...members, ...loose],
  }
}

const isOurs = (object: KubernetesObject): boolean => listAppliers(object).includes(MANAGER)

/** Lists the applications that were there. If somebody has deleted the parent, its documents tell. */
const applicationsIn = (parent: KubernetesObject | undefined, members: readonly KubernetesObject[]): string[] =>
  parent === undefined ? [...new Set(members.flatMap(({ data }) => data?.application ?? []))] : listIn(parent)

const listIn = (parent: KubernetesObject | undefined): string[] => {
  try {
    const value: unknown = JSON.parse(parent?.data?.applications ?? '[]')
    return Array.isArray(value) ? value.filter((name) => Application.safeParse(name).success) : []
  } catch {
    // an unreadable list is of nobody; the next round writes it anew
    return []
  }
}

/** Writes the parent with the applications and the UUID of the model, if it is not so already. */
export const writeParent = async (
  kubernetes: Kubernetes,
  { namespace, parent }: ApplySet,
  applications: readonly string[],
  model: string | undefined,
): Promise<KubernetesObject> => {
  const desired: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: PARENT,
      namespace,
      labels: { [ID]: applySetId(namespace) },
      annotations: { [TOOLING]: `meshstep/v${about.version}`, [KINDS]: 'ConfigMap' },
    },
    data: { applications: JSON.stringify(applications.toSorted()), ...(model !== undefined && { model }) },
  }
  if (parent !== undefined && isApplied(parent, desired, MANAGER)) return parent
  const { applied } = await ofNamespace(namespace, applyObject(kubernetes, { desired, live: parent }, MANAGER))
  return applied ?? desired
}

const ofNamespace = async <T>(namespace: string, writing: Promise<T>): Promise<T> => {
  try {
    return await writing
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new Failure(`there is no namespace ${namespace} in this cluster: does the model run in another one?`, 1, {
      cause: error,
    })
  }
}

/** Adds the label of a member. */
const memberOf = (document: JujuDocument): KubernetesObject => ({
  ...document,
  metadata: {
    ...document.metadata,
    labels: { ...document.metadata.labels, [PART_OF]: applySetId(document.metadata.namespace) },
  },
})

/** The writes that bring the set to the desired documents. */
export type SetPlan = {
  readonly apply: readonly { readonly desired: KubernetesObject; readonly live: KubernetesObject | undefined }[]
  /** Documents that name another application than before. They are deleted, and made anew. */
  readonly replace: readonly KubernetesObject[]
  readonly prune: readonly KubernetesObject[]
}

/** Compares the members with the documents. A member for which `isKept` is true is not pruned, and no copy of somebody else is. */
export const planSet = (
  { members }: ApplySet,
  documents: readonly JujuDocument[],
  isKept: (member: KubernetesObject) => boolean,
): SetPlan => {
  const there = new Map(members.map((member) => [member.metadata.name, member]))
  const wanted = new Set(documents.map(({ metadata }) => metadata.name))
  const pairs = documents.map(memberOf).map((desired) => ({ desired, live: there.get(desired.metadata.name) }))
  const changed = pairs.filter(({ desired, live }) => live === undefined || !isApplied(live, desired, MANAGER))
  const isReplaced = ({ desired, live }: (typeof changed)[number]) =>
    live?.data !== undefined && live.data.application !== desired.data?.application
  return {
    apply: changed.map((pair) => (isReplaced(pair) ? { ...pair, live: undefined } : pair)),
    replace: changed.flatMap((pair) => (isReplaced(pair) && pair.live ? [pair.live] : [])),
    prune: members.filter((member) => isOurs(member) && !wanted.has(member.metadata.name) && !isKept(member)),
  }
}

/** A write that was done, or the reason why not, with what to do. */
export type Write =
  | { readonly document: string; readonly change: 'created' | 'changed' | 'removed' }
  | { readonly problem: string }

/**
 * Carries out the plan, and reports each write. A write that is refused does not stop the others. Documents of others with a name of ours stay as they are.
 */
export const writeSet = async (kubernetes: Kubernetes, { apply, replace, prune }: SetPlan): Promise<Write[]> => {
  const writes: Write[] = []
  for (const object of prune)
    writes.push(await tried(object, 'removed', () => kubernetes.remove(object).then(() => undefined)))
  for (const { desired, live } of apply) {
    const former = replace.find(({ metadata }) => metadata.name === desired.metadata.name)
    const write = async () => {
      if (former) await kubernetes.remove(former)
      return await applied(kubernetes, desired, live)
    }
    writes.push(await tried(desired, (former ?? live) === undefined ? 'created' : 'changed', write))
  }
  return writes
}

/** Reports a write, which resolves with a problem if there is one. */
const tried = async (
  object: KubernetesObject,
  change: 'created' | 'changed' | 'removed',
  write: () => Promise<string | undefined>,
): Promise<Write> => {
  try {
    const problem = await write()
    return problem === undefined ? { document: objectKey(object), change } : { problem }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { problem: describeRefusal(error) }
  }
}

/** Applies a document. Resolves with the conflict if one of somebody else has its name. */
const applied = async (
  kubernetes: Kubernetes,
  desired: KubernetesObject,
  live: KubernetesObject | undefined,
): Promise<string | undefined> => {
  try {
    await applyObject(kubernetes, { desired, live }, MANAGER)
    return undefined
  } catch (error) {
    if (live !== undefined || !isVersionConflict(error)) throw error
    const { namespace, name } = desired.metadata
    const found = await kubernetes.find({ kind: 'ConfigMap', namespace, name })
    if (found === undefined) throw error
    const { object, manager } = namesakeConflict(desired, found, MANAGER)
    return `${object} belongs to ${manager}, and is left as it is: delete it, or hand it over with kubectl label configmap -n ${namespace} ${name} ${PART_OF}=${desired.metadata.labels?.[PART_OF]}`
  }
}
