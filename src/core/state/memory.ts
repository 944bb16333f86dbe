import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { ConfigurationError, NamespaceTerminating, Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { jsonBytes } from '../../platform/base/json-bytes.ts'
import type { Memo } from '../../platform/base/memo.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { ApiError } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { memoryLabels } from '../../platform/kubernetes/ownership-labels.ts'
import { emptyState, isEmptyState, PublicState, type State, type StateParts, VERSION } from './state.ts'

/**
 * The memory of one application: ConfigMap `juju-service-mesh-{application}-labels` in its namespace. `data.labels` is a JSON object of the
 * labels held on the workload, and of those that could not be removed elsewhere. It has the charm library's format, so that an application
 * can move over in place and back. `data.state` is the State as JSON.
 */
export type Memory = {
  readonly state: State
  readonly labels: Readonly<Record<string, string>>
  /** The ConfigMap, as read or written. Undefined if there is none. */
  readonly stored: KubernetesObject | undefined
}

/** ConfigMaps hold at most 1 MiB, keys and values together (kubernetes.io/docs/concepts/configuration/configmap). */
const MAXIMUM_BYTES = 1024 * 1024

/** The limit of the memory after an event, including the published data. The rest is left for ends of relations, and for the progress of steps. */
export const FULL_BYTES = MAXIMUM_BYTES - 64 * 1024

const MEMORY_MANAGER = 'meshstep'

export const memoryName = (application: string): string => `juju-service-mesh-${application}-labels`

/** Returns the application of a memory with this name, or undefined for any other object. */
export const memoryOwner = ({ kind, namespace, name = '' }: Reference): Subject | undefined => {
  const application = kind === 'ConfigMap' ? /^juju-service-mesh-(.+)-labels$/.exec(name)?.[1] : undefined
  return application === undefined || namespace === undefined ? undefined : { namespace, application }
}

/** Names the memory's ConfigMap in messages and results. */
export const memoryObject = ({ namespace, application }: Subject): string =>
  nameOf({ kind: 'ConfigMap', namespace, name: memoryName(application) })

/** Reads the memory's ConfigMap. Undefined if there is none. */
export const findMemory = async (
  kubernetes: Pick<Kubernetes, 'find'>,
  { namespace, application }: Subject,
): Promise<KubernetesObject | undefined> =>
  await kubernetes.find({ kind: 'ConfigMap', namespace, name: memoryName(application) })

/** Returns the time of the memory's last write, in milliseconds since the epoch. Undefined if the API server does not have it. */
export const savedAt = ({ stored }: Memory): number | undefined => {
  const times = (stored?.metadata.managedFields ?? []).map(({ time }) => Date.parse(String(time)))
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Reads and writes memories. */
export type Memories = {
  /**
   * Reads the memory. An invalid ConfigMap stays untouched: rejects with ConfigurationError, with the key, the expectation and the remedy.
   */
  load(kubernetes: Kubernetes, subject: Subject): Promise<Memory>
  /** Parses the state in a ConfigMap. Undefined if only the charm library wrote it. Returns ConfigurationError if it is invalid. */
  read(stored: KubernetesObject, memo: Memo): State | undefined | ConfigurationError
  /** Tells if `next` equals the stored content. */
  isStored(memory: Memory, next: Content): boolean
  /** Writes the memory. Rejects with a version conflict if it has changed since it was read. An empty memory is deleted. */
  save(kubernetes: Kubernetes, subject: Subject, memory: Memory, next: Content): Promise<Memory>
}

/** Creates a store for states of these parts. */
export const createMemories = (parts: StateParts): Memories => {
  const text = stateAs<State>(
    z.strictObject(Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.schema]))) as never, // by the type StateParts, these schemas parse a State
  )
  const isNothing = ({ state, labels }: Content): boolean =>
    isEmptyState(parts, state) && Object.keys(labels).length === 0
  return {
    load: async (kubernetes, subject) => {
      const stored = await findMemory(kubernetes, subject)
      return stored
        ? parseMemory(stored, text, kubernetes.memo)
        : { state: emptyState(), labels: {}, stored: undefined }
    },
    read: (stored, memo) =>
      stored.data?.state === undefined ? undefined : orConfigurationError(() => parseMemory(stored, text, memo).state),
    isStored: (memory, next) =>
      memory.stored === undefined
        ? isNothing(next)
        : !isNothing(next) &&
          !isInherited(memory) &&
          isDeepStrictEqual([memory.state, memory.labels], [next.state, next.labels]),
    save: async (kubernetes, subject, { stored }, next) => {
      if (stored === undefined || !isNothing(next)) return await write(kubernetes, subject, stored, next)
      await kubernetes.remove(stored)
      return { ...next, stored: undefined }
    },
  }
}

/** Reads the published part of a state, and the workload's labels. Undefined and ConfigurationError as in `Memories.read`. */
export const readPublicState = (
  stored: KubernetesObject,
  memo: Memo,
): { readonly state: PublicState; readonly labels: Memory['labels'] } | undefined | ConfigurationError =>
  stored.data?.state === undefined
    ? undefined
    : orConfigurationError(() => ({
        state: parse(stored, TEXTS.shown, memo),
        labels: parse(stored, TEXTS.labels, memo),
      }))

const orConfigurationError = <T>(parsing: () => T): T | ConfigurationError => {
  try {
    return parsing()
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
}

const parseMemory = (stored: KubernetesObject, text: Text<State>, memo: Memo): Memory => {
  const { data = {} } = stored
  // the charm library leaves an empty ConfigMap before it has set a label
  if (Object.keys(data).length === 0) return { state: emptyState(), labels: {}, stored }
  if (!['labels', 'state'].some((key) => Object.hasOwn(data, key))) throw foreign(stored)
  const labels = parse(stored, TEXTS.labels, memo)
  // without `state`, the charm library wrote it
  if (data.state === undefined) return { state: { ...emptyState(), libraryLabels: labels }, labels, stored }
  return { state: parse(stored, text, memo), labels, stored }
}

type Text<T> = { readonly key: 'labels' | 'state'; readonly expected: string; readonly read: (text: string) => T }

/** Describes a foreign ConfigMap with the memory's name. */
const foreign = ({
  data = {},
  metadata: { namespace, name, managedFields = [] },
}: KubernetesObject): ConfigurationError => {
  const managers = [...new Set(managedFields.map(({ manager }) => manager))].join(', ') || 'somebody else'
  const keys = Object.keys(data).slice(0, 5).join(', ')
  return new ConfigurationError(
    `ConfigMap ${namespace}/${name} is no memory: it is written by ${managers}, and has ${keys} in place of labels and state. It was left as it is and ` +
      'nothing was changed. Rename or delete it, and send the event again.',
  )
}

const readAs =
  <T>(schema: z.ZodType<T>) =>
  (text: string): T => {
    const result = parseKnown(schema, JSON.parse(text))
    if (!result.success) throw result.error
    return result.data
  }

const stateAs = <T>(schema: z.ZodType<T>): Text<T> => ({
  key: 'state',
  expected: `a state that meshstep wrote, version ${VERSION}`,
  read: readAs(schema),
})

const TEXTS = {
  labels: { key: 'labels', expected: 'a JSON object of strings', read: readAs(z.record(z.string(), z.string())) },
  shown: stateAs(PublicState),
} as const

/** Describes a memory of another version. This program must not change it, because it does not know its format. */
const ofOtherVersion = ({ metadata: { namespace, name } }: KubernetesObject, version: number): ConfigurationError =>
  new ConfigurationError(
    `ConfigMap ${namespace}/${name}: data.state has version ${version}, as another meshstep wrote it, and this one reads version ${VERSION}. ` +
      'It was left as it is and nothing was changed. Run a meshstep that reads that version, and send the event again.',
  )

/** Returns the version of a state that has another one. */
const otherVersion = (text: string): number | undefined => {
  const { version } = (JSON.parse(text) ?? {}) as { version?: unknown }
  return typeof version === 'number' && version !== VERSION ? version : undefined
}

const parse = <T>(stored: KubernetesObject, { key, expected, read }: Text<T>, memo: Memo): T => {
  const { data, metadata } = stored
  const unreadable = (problem: string, cause?: unknown) => {
    const { namespace, name } = metadata
    return new ConfigurationError(
      `ConfigMap ${namespace}/${name}: data.${key} is not ${expected}: ${problem}. It was left as it is and nothing was changed. ` +
        `Repair data.${key} (kubectl -n ${namespace} edit configmap ${name}), or delete the ConfigMap and send the application's events again.`,
      { cause },
    )
  }
  const text = data?.[key]
  if (text === undefined) throw unreadable('the key is missing')
  try {
    return memo(text, read)
  } catch (error) {
    const version = key === 'state' && error instanceof z.ZodError ? otherVersion(text) : undefined
    if (version !== undefined) throw ofOtherVersion(stored, version)
    throw unreadable(error instanceof z.ZodError ? describeIssues(error) : (error as Error).message, error)
  }
}

/** Parses `value` without unknown keys, which a newer version may have written during a rollout. */
const parseKnown = <T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> => {
  const result = schema.safeParse(value)
  const unknown = (result.error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? [{ path: issue.path, keys: issue.keys }] : [],
  )
  if (unknown.length === 0) return result
  const known = structuredClone(value)
  for (const { path, keys } of unknown) {
    const parent = path.reduce((object, key) => (object as Record<PropertyKey, unknown>)[key], known)
    for (const key of keys) delete (parent as Record<string, unknown>)[key]
  }
  return parseKnown(schema, known)
}

/** The content of a memory to be written. */
export type Content = Pick<Memory, 'state' | 'labels'>

/** The depth to which parts of a state are measured separately: an entry of a relation, or a published databag. */
const DEPTH_OF_ENTRIES = 2

/** Measures the data of the ConfigMap in bytes. Parts that were measured before are not serialised again. */
export const measureContent = ({ state, labels }: Content): number =>
  'labels'.length + Buffer.byteLength(pythonJson(labels)) + 'state'.length + jsonBytes(state, DEPTH_OF_ENTRIES)

const dataBytes = ({ data = {} }: KubernetesObject): number =>
  Object.entries(data).reduce((sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text), 0)

/** Describes a memory that has no room. */
export const tooLarge = (application: string, bytes: number): string =>
  `the memory of ${application} would have ${bytes} bytes, at most ${FULL_BYTES} fit into a ConfigMap: send less relation data or config`

/** Tells if the memory has room for the content. A memory that is too full already accepts content that is not larger. */
export const hasRoom = (content: Content, before: Content): boolean => {
  const bytes = measureContent(content)
  return bytes <= FULL_BYTES || bytes <= measureContent(before)
}

/** Tells if the charm library wrote the memory last. */
export const isInherited = (memory: Memory): boolean => memory.stored !== undefined && isUnwritten(memory)

/** Tells if no step has written the memory yet: there is none, or the charm library wrote it. */
export const isUnwritten = ({ stored }: Memory): boolean => stored?.data?.state === undefined

const write = async (
  kubernetes: Kubernetes,
  { namespace, application }: Subject,
  stored: KubernetesObject | undefined,
  { state, labels }: Content,
): Promise<Memory> => {
  const base: KubernetesObject = stored ?? {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: memoryName(application), namespace },
  }
  const object: KubernetesObject = {
    ...base,
    metadata: {
      ...base.metadata,
      labels: { ...base.metadata.labels, ...memoryLabels(application) },
    },
    data: { ...base.data, labels: pythonJson(labels), state: JSON.stringify(state) },
  }
  const bytes = dataBytes(object)
  if (bytes > MAXIMUM_BYTES) throw new Refused(413, tooLarge(application, bytes))
  const written = stored
    ? await kubernetes.replace(object, MEMORY_MANAGER)
    : await createIn(kubernetes, object, MEMORY_MANAGER)
  return { state, labels, stored: written }
}

/** Creates an object. Rejects with Refused if its namespace is missing, and with NamespaceTerminating if that is being deleted. */
export const createIn = async (
  kubernetes: Kubernetes,
  object: KubernetesObject,
  manager: string,
): Promise<KubernetesObject> => {
  try {
    return await kubernetes.create(object, manager)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const name = `Namespace ${object.metadata.namespace}`
    if (error.status === 404)
      throw new Refused(400, `${name} does not exist: create it, then send the event again`, { cause: error })
    if (error.causes.some(({ reason }) => reason === 'NamespaceTerminating'))
      throw new NamespaceTerminating(`${name} is being deleted with all that is in it: nothing is done, or remembered`)
    throw error
  }
}
