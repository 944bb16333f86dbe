import { NAMESPACE } from './fixture.ts'
import { labelsOn } from './monitor.ts'
import type { KubernetesObject } from './process.ts'
import type { World } from './world.ts'

/** What a person with kubectl does to what meshstep made; `nth` chooses among all that it can be done to. */
export type Hand = { readonly does: Deed; readonly nth: number }

export const DEEDS = [
  'deletes a policy',
  'empties a policy',
  'deletes a Gateway',
  'takes a label off',
  'sets a label otherwise',
] as const
export type Deed = (typeof DEEDS)[number]

/** The labels of a mesh, and what a person sets them to. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'istio.io/dataplane-mode': 'none',
  'istio.io/use-waypoint': 'none',
  'istio.io/use-waypoint-namespace': 'elsewhere',
}

/** The one object, or a label of it, that a hand is laid on. */
export type Touched = { readonly object: KubernetesObject; readonly key?: string }

/** What a person has touched, and how it was left; undefined where it is gone. */
export type Undone = Pick<Touched, 'key'> & {
  readonly kind: string
  readonly name: string
  readonly left: string | undefined
}

const GROUPS: Readonly<Record<string, string>> = {
  AuthorizationPolicy: '/apis/security.istio.io/v1',
  Gateway: '/apis/gateway.networking.k8s.io/v1',
  StatefulSet: '/apis/apps/v1',
  Service: '/api/v1',
  Namespace: '/api/v1',
}

const PLURALS: Readonly<Record<string, string>> = { AuthorizationPolicy: 'authorizationpolicies' }

const pathOf = ({ kind, metadata: { namespace, name } }: KubernetesObject): string => {
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return `${GROUPS[kind]}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`
}

const isOurs = ({ metadata: { labels } }: KubernetesObject): boolean =>
  labels?.['app.kubernetes.io/managed-by'] === 'meshstep'

/** The labels of a mesh on workloads, Services and the namespace that a person has set otherwise, or has not. */
const labelsIn = (objects: readonly KubernetesObject[], isOtherwise: boolean): Touched[] =>
  objects
    .filter(({ kind, metadata: { name } }) => KINDS.includes(kind) || (kind === 'Namespace' && name === NAMESPACE))
    .flatMap((object) =>
      Object.entries(labelsOn(object))
        .filter(([key, value]) => Object.hasOwn(OTHERWISE, key) && (value === OTHERWISE[key]) === isOtherwise)
        .map(([key]) => ({ object, key })),
    )

const KINDS = ['StatefulSet', 'Service']

const touchable = (does: Deed, objects: readonly KubernetesObject[]): Touched[] => {
  if (does === 'takes a label off' || does === 'sets a label otherwise') return labelsIn(objects, false)
  const kind = does === 'deletes a Gateway' ? 'Gateway' : 'AuthorizationPolicy'
  return objects.filter((object) => object.kind === kind && isOurs(object)).map((object) => ({ object }))
}

/** What a hand is laid on as the cluster is now; undefined where there is nothing. */
export const findTouched = ({ api }: World, { does, nth }: Hand): Touched | undefined => {
  const found = touchable(does, api.objects())
  return found[nth % Math.max(found.length, 1)]
}

const patch = (world: World, object: KubernetesObject, body: unknown): void => {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const path = `${pathOf(object)}?fieldManager=kubectl-edit`
  const { status } = world.api.handle({ method: 'PATCH', path, headers, body: JSON.stringify(body) })
  if (status !== 200) throw new Error(`a person may not patch ${object.kind} ${object.metadata.name}: ${status}`)
}

const setLabel = (world: World, { object, key = '' }: Touched, value: string | null): void => {
  const metadata = { labels: { [key]: value } }
  patch(world, object, object.kind === 'StatefulSet' ? { spec: { template: { metadata } } } : { metadata })
}

export const layHand = (world: World, { does }: Hand, touched: Touched): void => {
  const { object, key = '' } = touched
  if (does === 'empties a policy') patch(world, object, { spec: { rules: null } })
  else if (does === 'takes a label off') setLabel(world, touched, null)
  else if (does === 'sets a label otherwise') setLabel(world, touched, OTHERWISE[key] ?? null)
  else world.api.handle({ method: 'DELETE', path: pathOf(object), headers: {} })
}

const leftOf = ({ api }: World, { kind, name, key }: Omit<Undone, 'left'>): string | undefined => {
  const found = api.objects().find((object) => object.kind === kind && object.metadata.name === name)
  if (found === undefined) return undefined
  return key === undefined ? JSON.stringify(found.spec) : labelsOn(found)[key]
}

export const undoneOf = (world: World, { object, key }: Touched): Undone => {
  const at = { kind: object.kind, name: object.metadata.name, ...(key !== undefined && { key }) }
  return { ...at, left: leftOf(world, at) }
}

/** Tells if it is still as a person has left it, after a write of an object. */
export const isAsLeft = (world: World, undone: Undone, { kind, metadata: { name } }: KubernetesObject): boolean =>
  kind !== undone.kind || name !== undone.name || leftOf(world, undone) === undone.left

/** The labels without those that a person has set otherwise, and of which nothing else is expected: they are the person's own. */
export const withoutOwn = (labels: Readonly<Record<string, string>>, expected: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    Object.entries(labels).filter(([key, value]) => OTHERWISE[key] !== value || Object.hasOwn(expected, key)),
  )

/** The person takes off what was set otherwise, as those who tell of it ask for. */
export const letGo = (world: World): void => {
  for (const touched of labelsIn(world.api.objects(), true)) {
    world.log(() => `-- ${touched.key} is taken off ${touched.object.kind} ${touched.object.metadata.name}`)
    setLabel(world, touched, null)
  }
}

export const describeTouched = ({ object, key }: Touched): string =>
  `${key === undefined ? '' : `${key} of `}${object.kind} ${object.metadata.name}`
