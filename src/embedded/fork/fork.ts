import { createTwoFilesPatch } from 'diff'
import { stringify } from 'yaml'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { type Answer, createEmbeddedApi, type EmbeddedApi, type Request } from '../api/api.ts'
import { type Target, targetOf } from '../api/route.ts'
import { MARK, startCapture } from '../demo/capture.ts'
import { startWaypoints } from '../demo/istio.ts'
import { sourceEvent } from '../demo/source-event.ts'
import { at, parsed } from '../kinds/json.ts'
import { kindOf } from '../kinds/kinds.ts'
import { noResource } from '../kinds/status.ts'

/** Tells if a fork serves a kind of an API version. */
export const isServed = (apiVersion: string, kind: string): boolean => kindOf(apiVersion, kind) !== undefined

/** Reads from the cluster that is forked: there is no way to write to it. */
export type Read = (path: string) => Promise<Answer>

/** The change of one object. A side is absent where the object does not exist. */
export type ObjectChange = {
  /** `AuthorizationPolicy shop/web` */
  readonly object: string
  readonly change: 'created' | 'changed' | 'removed'
  readonly before?: KubernetesObject
  readonly after?: KubernetesObject
  /** Unified, of the objects as YAML. */
  readonly diff: string
}

/** A cluster in memory that begins as another one is, and goes on alone. What is asked for is read there once, when it is first needed. */
export type Fork = {
  /** The cluster as it was read, which takes no writes. */
  readonly before: (request: Request) => Promise<Answer>
  readonly after: (request: Request) => Promise<Answer>
  /** The events that sources of Knative would send of what was written since the last call. */
  events(): Event[]
  /** Lists all writes so far, except to pods and to the objects that Istio creates for Gateways. */
  changes(): ObjectChange[]
  /** All objects that were read, and what became of them. */
  objects(): { readonly before: readonly KubernetesObject[]; readonly after: readonly KubernetesObject[] }
}

export const createFork = (read: Read): Fork => {
  const before = createEmbeddedApi()
  const after = before.copy()
  // what Istio would say of policies depends on objects that are not read
  startWaypoints({ api: after })
  let isMarking = false
  // where nobody marks pods, no new one is marked
  startCapture({ api: after, runs: () => isMarking })
  const events: Event[] = []
  after.subscribe((change) => {
    const event = sourceEvent(change)
    if (event) events.push(event)
  })
  const load = createLoader(read, [before, after], (objects) => {
    isMarking ||= objects.some(({ metadata }) => metadata.annotations?.[MARK] === 'enabled')
  })
  const serve =
    (api: EmbeddedApi) =>
    async (request: Request): Promise<Answer> =>
      (await load(request)) ?? api.handle(request)
  return {
    before: serve(before),
    after: serve(after),
    events: () => events.splice(0),
    changes: () => changesBetween(before.objects(), after.objects()),
    objects: () => ({ before: before.objects(), after: after.objects() }),
  }
}

/** Loads what a request needs; answers with why that cannot be read. */
const createLoader = (
  read: Read,
  apis: readonly EmbeddedApi[],
  tell: (objects: readonly KubernetesObject[]) => void,
) => {
  const loads = new Map<string, Promise<Answer | undefined>>()
  const seen = new Set<string>()

  const adopt = (objects: readonly KubernetesObject[]): void => {
    // one that was read, and is gone since, must not come back
    const unseen = objects.filter((object) => !seen.has(objectKey(object)))
    for (const object of unseen) seen.add(objectKey(object))
    for (const api of apis) api.adopt(unseen)
    tell(unseen)
  }

  const readInto = async (path: string, target: Target): Promise<Answer | undefined> => {
    const answer = await read(path)
    if (isUnserved(answer) && target.name !== undefined) return unserved()
    if (answer.status !== 200) return isAbsent(answer, target) ? undefined : answer
    const object = JSON.parse(answer.body)
    const { kind } = target
    const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
    adopt(
      target.name === undefined
        ? object.items.map((item: object) => ({ ...item, apiVersion, kind: kind.kind }))
        : [object],
    )
    return undefined
  }

  const once = (path: string): Promise<Answer | undefined> => {
    const known = loads.get(path)
    if (known) return known
    const loading = readInto(path, targetOf(withoutQuery(path)))
    loads.set(path, loading)
    const forget = () => void loads.delete(path)
    // what fails for the moment is tried again
    loading.then((answer) => answer && answer.status !== 403 && answer.status !== 404 && forget(), forget)
    return loading
  }

  const loadNamespace = async (namespace: string): Promise<void> => {
    const refused = await once(`/api/v1/namespaces/${namespace}`)
    if (refused?.status === 403) adopt([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }])
  }

  const loadForWrite = async (path: string, target: Target, body: string | undefined): Promise<Answer | undefined> => {
    const { namespace, kind } = target
    if (namespace !== undefined) await loadNamespace(namespace)
    // a controller would make pods anew where their own are not known
    if (namespace !== undefined && kind.group === 'apps') await once(`/api/v1/namespaces/${namespace}/pods`)
    const name = target.name === undefined ? nameIn(body) : undefined
    if (target.name === undefined && name === undefined) return undefined
    return await once(name === undefined ? objectPath(path, target) : `${path}/${encodeURIComponent(name)}`)
  }

  return async ({ method, path, body }: Request): Promise<Answer | undefined> => {
    const plain = withoutQuery(path)
    const target = targetOf(plain)
    return method === 'GET' ? await once(selecting(path)) : await loadForWrite(plain, target, body)
  }
}

const withoutQuery = (path: string): string => path.replace(/\?.*/s, '')

/** A list is narrowed by its selector alone. */
const selecting = (path: string): string => {
  const selector = new URL(path, 'http://fork').searchParams.get('labelSelector')
  return selector === null ? withoutQuery(path) : `${withoutQuery(path)}?labelSelector=${encodeURIComponent(selector)}`
}

const objectPath = (path: string, { subresource }: Target): string =>
  subresource === undefined ? path : path.slice(0, -subresource.length - 1)

const nameIn = (body: string | undefined): string | undefined => {
  const name = at(parsed(body ?? ''), 'metadata', 'name')
  return typeof name === 'string' ? name : undefined
}

/** A server answers a page where it knows no kind of a group. A client would ask for an object again, as a proxy may answer so for the moment. */
const isUnserved = ({ status, body }: Answer): boolean => status === 404 && body.trim() === '404 page not found'

/** The answer of a server that knows other kinds of the group. */
const unserved = (): Answer => ({ status: 404, headers: {}, body: JSON.stringify(noResource().status) })

/** An object that is not there, of a kind that is. */
const isAbsent = ({ status, body }: Answer, { name }: Target): boolean =>
  status === 404 && name !== undefined && body.startsWith('{') && JSON.parse(body).details?.name === name

const changesBetween = (before: readonly KubernetesObject[], after: readonly KubernetesObject[]): ObjectChange[] => {
  const [old, now] = [before, after].map(
    (objects) => new Map(objects.filter(isTold).map((object) => [objectKey(object), readable(object)])),
  )
  const keys = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].toSorted()
  return keys.flatMap((key) => {
    const found = old?.get(key)
    return changeOf(key, concealed(found, found), concealed(now?.get(key), found)) ?? []
  })
}

const changeOf = (
  object: string,
  before: KubernetesObject | undefined,
  after: KubernetesObject | undefined,
): ObjectChange | undefined => {
  const [old, now] = [before, after].map((side) => (side ? stringify(side, { sortMapEntries: true }) : ''))
  if (old === now) return undefined
  const change = before === undefined ? 'created' : after === undefined ? 'removed' : 'changed'
  const diff = createTwoFilesPatch(
    before ? object : '/dev/null',
    after ? object : '/dev/null',
    old ?? '',
    now ?? '',
    undefined,
    undefined,
    { context: 3, headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true } },
  )
  return { object, change, ...(before && { before }), ...(after && { after }), diff }
}

/** `kubectl apply` keeps what it was given there, with all values. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** A Secret without its values: they are told apart from those `found` there, and shown to nobody. */
const concealed = (
  object: KubernetesObject | undefined,
  found: KubernetesObject | undefined,
): KubernetesObject | undefined => {
  if (object?.kind !== 'Secret') return object
  const values = Object.entries({ ...object.data, ...(object.stringData as Record<string, string> | undefined) })
  const { stringData: _, ...others } = object
  const { [LAST_APPLIED]: _applied, ...annotations } = object.metadata.annotations ?? {}
  const metadata = { ...object.metadata, annotations }
  const isSame = ([key, value]: [string, string]) => found?.data?.[key] === value
  return {
    ...others,
    metadata,
    data: Object.fromEntries(values.map((one) => [one[0], isSame(one) ? '…' : '… (another value)'])),
  }
}

/** Pods follow from workloads, and a memory is no matter of anybody else. */
const isTold = ({ kind, metadata }: KubernetesObject): boolean =>
  kind !== 'Pod' &&
  kind !== 'Event' &&
  !(kind === 'ConfigMap' && metadata.name.startsWith('juju-service-mesh-')) &&
  !metadata.ownerReferences?.some((owner) => owner.kind === 'Gateway')

/** Returns an object without its status and without the fields that the API server maintains. */
const readable = ({ status: _, ...object }: KubernetesObject): KubernetesObject => {
  const {
    uid: _u,
    resourceVersion: _r,
    generation: _g,
    creationTimestamp: _c,
    managedFields: _m,
    ...metadata
  } = object.metadata
  return { ...object, metadata }
}
