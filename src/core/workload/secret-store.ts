import { Refused } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { isRefusal } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { hasLabels } from '../../platform/kubernetes/label-selector.ts'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { fieldManager, ownerLabels } from '../../platform/kubernetes/ownership-labels.ts'
import type { Config } from '../state/config.ts'
import { createIn } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { ownWorkload } from './config.ts'
import { concealed, findKey, newKey, rememberedKeys, storeReference, type Values } from './secrets.ts'

/** Replaces the secret values of a config by their keys in the Secret. */
export type Conceal = (config: Config) => Config

/** The secret values of an application, saved before anything refers to them. */
export type SecretStore = {
  /** Replaces secret values by keys. Throws if a new value cannot be stored. */
  readonly conceal: Conceal
  /** Reads the Secret if a config needs it. Resolves with false if nothing was read. */
  read(): Promise<boolean>
  /**
   * Saves the new values that the state refers to. Resolves with false if the API server refuses the write. Rejects with a version conflict
   * if another writer was faster.
   */
  save(state: State): Promise<boolean>
}

type Dependencies = {
  readonly kubernetes: Kubernetes
  readonly subject: Subject
  readonly state: State
  readonly now: Date
}

export const createSecretStore = ({ kubernetes, subject, state, now }: Dependencies): SecretStore => {
  const { application } = subject
  const remembered = rememberedKeys(state, application)
  const added = new Map<string, string>()
  const reused = new Set<string>()
  let found: KubernetesObject | undefined
  let kept: Values | undefined
  let isNeeded = false
  /** The reason why no new value can be saved. */
  let problem: Error | undefined

  const keep = (prefix: string, value: string): string => {
    isNeeded = true
    // values are concealed again once the Secret is read
    if (kept === undefined) return ''
    const values = { ...kept, ...Object.fromEntries(added) }
    const known = findKey(values, prefix, value)
    if (known !== undefined) {
      if (!added.has(known) && !remembered.has(known)) reused.add(known)
      return known
    }
    if (problem !== undefined) throw problem
    const taken = new Set([...Object.keys(values), ...remembered])
    const key = newKey(taken, prefix, now.getTime())
    added.set(key, value)
    return key
  }
  return {
    conceal: (config) => {
      const workload = ownWorkload(config)
      if (workload === undefined) return config
      const next = concealed(workload, application, keep)
      return kept === undefined ? config : { ...config, workload: next }
    },
    read: async () => {
      if (!isNeeded || kept !== undefined) return false
      const read = await orRefusal(kubernetes.find(storeReference(subject)))
      found = read instanceof Error ? undefined : read
      problem = read instanceof Error ? read : found && foreignProblem(subject, found)
      kept = found && problem === undefined ? decodeValues(found) : {}
      return true
    },
    save: async (next) => {
      const wanted = rememberedKeys(next, application)
      const values = Object.fromEntries([...added].filter(([key]) => wanted.has(key)))
      const isReusing = [...reused].some((key) => wanted.has(key))
      if (Object.keys(values).length === 0 && !isReusing) return true
      const written = await orRefusal(write(kubernetes, subject, found, values))
      if (!(written instanceof Error)) return true
      problem = /Too long/.test(written.message) ? new Refused(413, TOO_LARGE, { cause: written }) : written
      added.clear()
      return false
    },
  }
}

const TOO_LARGE = 'data.config.workload: the secret values do not fit into a Secret: send less'

const orRefusal = async <T>(call: Promise<T>): Promise<T | Error> => {
  try {
    return await call
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

const foreignProblem = (subject: Subject, found: KubernetesObject): Error | undefined =>
  isStoreOf(subject, found)
    ? undefined
    : new Refused(
        400,
        `${objectKey(found)} is somebody else's, and has the name under which secret values are kept: delete it, or rename it`,
      )

/** Tells if meshstep created the Secret for this application. A copy by another program does not count. */
export const isStoreOf = (subject: Subject, { metadata }: KubernetesObject): boolean =>
  hasLabels(metadata.labels, ownerLabels(subject)) &&
  (metadata.managedFields ?? []).some(({ manager }) => manager === fieldManager(subject.application))

/** The values of a Secret, as text. */
const decodeValues = ({ data = {} }: KubernetesObject): Values =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))

const encoded = (value: string): string => Buffer.from(value).toString('base64')

/** Creates a missing Secret, or changes an observed one, so that concurrent writers do not lose each other's values. */
const write = async (
  kubernetes: Kubernetes,
  subject: Subject,
  found: KubernetesObject | undefined,
  values: Values,
): Promise<void> => {
  const manager = fieldManager(subject.application)
  const { kind, namespace, name } = storeReference(subject)
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encoded(value)]))
  if (found === undefined) {
    const metadata = { name, namespace, labels: ownerLabels(subject) }
    await createIn(kubernetes, { apiVersion: 'v1', kind, metadata, type: 'Opaque', data }, manager)
    return
  }
  await kubernetes.patch(
    { kind, namespace, name },
    [
      ...seen(found),
      ...claimed(found),
      ...(found.data === undefined ? [{ op: 'add' as const, path: '/data', value: {} }] : []),
      ...Object.entries(data).map(([key, value]) => ({ op: 'add' as const, path: `/data/${key}`, value })),
    ],
    manager,
  )
}

/** Removes keys without a reference. */
export const forget = async (
  kubernetes: Kubernetes,
  { found, keys, manager }: { found: KubernetesObject; keys: readonly string[]; manager: string },
): Promise<void> => {
  const { namespace, name } = found.metadata
  const removals = keys.map((key) => ({ op: 'remove' as const, path: `/data/${key}` }))
  await kubernetes.patch({ kind: 'Secret', namespace, name }, [...seen(found), ...removals], manager)
}

/** Changes an annotation at each save, so that a concurrent removal of a reused key fails on the resourceVersion. */
const claimed = ({ metadata: { annotations, resourceVersion } }: KubernetesObject) => [
  ...(annotations === undefined ? [{ op: 'add' as const, path: '/metadata/annotations', value: {} }] : []),
  { op: 'add' as const, path: `/metadata/annotations/${CLAIM.replace('/', '~1')}`, value: resourceVersion },
]

const CLAIM = 'meshstep.dev/claimed-at'

const seen = ({ metadata: { uid, resourceVersion } }: KubernetesObject) => [
  { op: 'test' as const, path: '/metadata/uid', value: uid },
  { op: 'test' as const, path: '/metadata/resourceVersion', value: resourceVersion },
]
