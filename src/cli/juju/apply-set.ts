import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import about from '../../../package.json' with { type: 'json' }
import { Application } from '../../platform/base/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { parseJson } from '../../platform/base/structured-text.ts'
import { DOCUMENT_SELECTOR } from '../../platform/cloudevents/knative/document.ts'
import { ApiError, describeRefusal, isNotFound, isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import { isApplied } from '../../platform/kubernetes/applied.ts'
import { applyObject, namesakeConflict } from '../../platform/kubernetes/apply-objects.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listAppliers } from '../../platform/kubernetes/field-managers.ts'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
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

/** Another run has written the parent since it was read. Nothing else is written yet, so a new plan helps. */
export class LostRace extends Failure {}

const isOurs = (object: KubernetesObject): boolean => listAppliers(object).includes(MANAGER)

/** Lists the applications that were there. If somebody has deleted the parent, its documents tell. */
const applicationsIn = (parent: KubernetesObject | undefined, members: readonly KubernetesObject[]): string[] =>
  parent === undefined ? [...new Set(members.flatMap(({ data }) => data?.application ?? []))] : listIn(parent)

/** An unreadable list is of nobody. The next round writes it anew. */
const listIn = ({ data }: KubernetesObject): string[] => {
  const value = parseJson(data?.applications ?? '')
  return Array.isArray(value) ? value.filter((name) => Application.safeParse(name).success) : []
}

/** Writes the parent with the applications and the UUID of the model, if it is not so already. Rejects with LostRace if it has changed since it was read. */
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
  try {
    const { applied } = await applyObject(kubernetes, { desired, live: parent }, MANAGER)
    return applied ?? desired
  } catch (error) {
    if (isNotFound(error) && parent === undefined)
      throw new Failure(`there is no namespace ${namespace} in this cluster: does the model run in another one?`, 1, {
        cause: error,
      })
    if (!isVersionConflict(error)) throw error
    const said = `others keep writing ConfigMap ${namespace}/${PARENT}: does another meshstep juju follow the model?`
    throw new LostRace(said, 1, { cause: error })
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
  return {
    apply: changed,
    replace: changed.flatMap(({ desired, live }) => (live && isReplaced(desired, live) ? [live] : [])),
    prune: members.filter((member) => isOurs(member) && !wanted.has(member.metadata.name) && !isKept(member)),
  }
}

const isReplaced = (desired: KubernetesObject, { data }: KubernetesObject): boolean =>
  data !== undefined && data.application !== desired.data?.application

/** A write that was done, or the reason why not, with what to do. */
export type Write =
  | { readonly document: string; readonly change: 'created' | 'changed' | 'removed' }
  | { readonly problem: string }

/** The limit of attempts to write what another run writes at the same time. */
export const MOST_ATTEMPTS = 5

/**
 * Carries out the plan, and reports each write. A write that is refused does not stop the others. Documents of others with a name of ours stay as they are.
 * What another run has written meanwhile is not reported.
 */
export const writeSet = async (kubernetes: Kubernetes, { apply, prune }: SetPlan): Promise<Write[]> => {
  const writes: (Write | undefined)[] = []
  for (const object of prune) writes.push(await tried((attempt) => removed(kubernetes, object, attempt)))
  for (const pair of apply) writes.push(await tried((attempt) => applied(kubernetes, pair, attempt)))
  return writes.filter((write) => write !== undefined)
}

/** Tries a write, and tries it again if the object has changed since it was read. Resolves with undefined if nothing was left to write. */
const tried = async (write: (attempt: number) => Promise<Write | undefined>): Promise<Write | undefined> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await write(attempt)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (!isVersionConflict(error) || attempt === MOST_ATTEMPTS) return { problem: describeRefusal(error) }
    }
}

/** Reads the object of a further attempt anew. */
const readAgain = async (
  kubernetes: Kubernetes,
  { metadata: { namespace, name } }: KubernetesObject,
  before: KubernetesObject | undefined,
  attempt: number,
): Promise<KubernetesObject | undefined> =>
  attempt === 1 ? before : await kubernetes.find({ kind: 'ConfigMap', namespace, name })

/** Removes a document. One that another run has written since is left to that one. */
const removed = async (kubernetes: Kubernetes, object: KubernetesObject, attempt: number) => {
  const live = await readAgain(kubernetes, object, object, attempt)
  if (live === undefined || !isDeepStrictEqual(live.data, object.data)) return undefined
  await kubernetes.remove(live)
  return { document: objectKey(object), change: 'removed' } as const
}

/** Applies a document. Resolves with the conflict if one of somebody else has its name. */
const applied = async (
  kubernetes: Kubernetes,
  { desired, live: before }: SetPlan['apply'][number],
  attempt: number,
): Promise<Write | undefined> => {
  const live = await readAgain(kubernetes, desired, before, attempt)
  if (live !== undefined && isApplied(live, desired, MANAGER)) return undefined
  if (live !== undefined && !isMember(live, desired)) return { problem: belongsToOthers(desired, live) }
  const isNew = live !== undefined && isReplaced(desired, live)
  if (isNew) await kubernetes.remove(live)
  await applyObject(kubernetes, { desired, live: isNew ? undefined : live }, MANAGER)
  return { document: objectKey(desired), change: before === undefined ? 'created' : 'changed' }
}

/** Tells if a document is of this manager, or handed over to it. */
const isMember = (live: KubernetesObject, desired: KubernetesObject): boolean =>
  isOurs(live) || ownValue(live.metadata.labels, PART_OF) === desired.metadata.labels?.[PART_OF]

const belongsToOthers = (desired: KubernetesObject, live: KubernetesObject): string => {
  const { object, manager } = namesakeConflict(desired, live, MANAGER)
  const { namespace, name, labels } = desired.metadata
  return `${object} belongs to ${manager}, and is left as it is: delete it, or hand it over with kubectl label configmap -n ${namespace} ${name} ${PART_OF}=${labels?.[PART_OF]}`
}
