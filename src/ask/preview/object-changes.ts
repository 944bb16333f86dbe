import { createTwoFilesPatch } from 'diff'
import { stringify } from 'yaml'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { LAST_APPLIED } from './last-applied.ts'

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

/** Lists the objects that differ, except pods, memories, and the objects that Istio makes for Gateways. */
export const changesBetween = (
  before: readonly KubernetesObject[],
  after: readonly KubernetesObject[],
): ObjectChange[] => {
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
