import { isDeepStrictEqual } from 'node:util'
import type { MeshPolicy } from '../../src/core/policies/models.ts'
import type { Handled } from '../../src/core/reconcile/outcome.ts'
import type { AuthorizationPolicy } from '../../src/mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createWorld, isWrite, NAMESPACE, service, type World, workload } from './world.ts'

type Data = Record<string, unknown>

/** The namespace and the application of an event; `shop` where none is said. */
export type Of = { readonly namespace?: string; readonly application: string }

export const BEACON = { application: 'beacon' } as const

export const WAYPOINT = 'shop-beacon-waypoint'

/** What Istio makes of the beacon's Gateway; its pods are ready. */
export const waypoint = (replicas = 1): KubernetesObject => {
  const { spec, ...object } = workload('Deployment', WAYPOINT)
  const { template, ...others } = spec as { template: { metadata: { labels: object } } }
  const labels = { ...template.metadata.labels, 'gateway.networking.k8s.io/gateway-name': WAYPOINT }
  return { ...object, spec: { ...others, replicas, template: { ...template, metadata: { labels } } } }
}

/** A namespace in which the beacon's waypoint serves, and the applications in it, each with a StatefulSet and a Service. */
export const createMesh = (applications: readonly string[] = [], isOwnSink = true): World =>
  createWorld([waypoint(), ...applications.flatMap((name) => [workload('StatefulSet', name), service(name)])], {
    isOwnSink,
  })

export const configure = (world: World, config: Data, of: Of = BEACON): Promise<Handled> =>
  world.send('config-changed', { ...of, config })

/** `web` of `shop` may use all of the Service of `db`, but for `changes`. */
export const wire = (changes: Data = {}): Data => ({
  source_namespace: NAMESPACE,
  source_app_name: 'web',
  target_namespace: NAMESPACE,
  target_app_name: 'db',
  target_selector_labels: null,
  target_service: null,
  target_type: 'app',
  endpoints: [],
  ...changes,
})

/** A beacon's side of the relation with `remote`, as a platform tells it. */
export const provides = (id: number, remote: Of, policies: unknown, of: Of = BEACON): Data => ({
  ...of,
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
  remote: { ...remote, data: policies === undefined ? {} : { policies } },
})

/** Tells the beacon that `remote` asks for `policies`. */
export const ask = (
  world: World,
  policies: unknown,
  { id = 7, application = 'db', ...remote }: Partial<Of> & { id?: number } = {},
) => world.send('relation-changed', provides(id, { application, ...remote }, policies))

/** A consumer's side of its relation with the beacon. */
export const requires = (id: number, of: Of, beacon: Of = BEACON): Data => ({
  ...of,
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { ...beacon, data: {} },
})

/** A relation of any other interface. */
export const related = (id: number, endpoint: string, remote: Of, of: Of, more: Data = {}): Data => ({
  ...of,
  relation: { id, endpoint, interface: 'http', role: 'provides', ...more },
  remote: { ...remote, data: {} },
})

export const objectsOf = (world: World, kind: string): KubernetesObject[] =>
  world.api
    .objects()
    .filter((object) => object.kind === kind)
    .toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))

const allPoliciesIn = (world: World) => objectsOf(world, 'AuthorizationPolicy') as AuthorizationPolicy[]

const isWaypoint = (principal: string): boolean => principal.endsWith('-waypoint')

/** Whether a policy lets in nobody but a waypoint, at a Service or at pods. */
const isGuard = ({ spec: { selector, targetRefs, rules = [] } }: AuthorizationPolicy): boolean =>
  (selector !== undefined || targetRefs?.[0]?.kind === 'Service') &&
  rules.every(({ from }) => from?.every(({ source }) => source?.principals?.every(isWaypoint)))

/** The policies that let somebody in, or hold for more than a Service or some pods. */
export const policiesIn = (world: World): AuthorizationPolicy[] => allPoliciesIn(world).filter((one) => !isGuard(one))

/** What is guarded, and who always passes: `Service db: nobody`, `pods db: waypoint`. */
export const guardsIn = (world: World): string[] =>
  allPoliciesIn(world)
    .filter(({ spec }) => spec.selector !== undefined || spec.targetRefs?.[0]?.kind === 'Service')
    .map(({ spec: { selector, targetRefs, rules = [] } }) => {
      const { 'app.kubernetes.io/name': name, ...more } = selector?.matchLabels ?? {}
      const target = selector
        ? ['pods', name, ...Object.values(more)].join(' ')
        : `Service ${targetRefs?.map((ref) => ref.name).join()}`
      const principals = rules.flatMap(({ from = [] }) => from.flatMap(({ source }) => source?.principals ?? []))
      return `${target}: ${principals.some(isWaypoint) ? 'waypoint' : 'nobody'}`
    })
    .toSorted()

/** The policies of a Service, or of an application's pods. */
export const policiesOf = (world: World, target: string): AuthorizationPolicy[] =>
  policiesIn(world).filter(
    ({ spec }) =>
      spec.targetRefs?.some(({ name }) => name === target) ||
      spec.selector?.matchLabels?.['app.kubernetes.io/name'] === target,
  )

/** Who is let in, but for the waypoint. */
export const sourcesOf = (policies: readonly AuthorizationPolicy[]): string[] =>
  policies
    .flatMap(({ spec }) => spec.rules ?? [])
    .flatMap(({ from = [] }) => from.flatMap(({ source }) => source?.principals ?? []))
    .filter((name) => !isWaypoint(name))
    .map((name) => name.replace('cluster.local/ns/', '').replace('/sa/', '/'))
    .toSorted()

/** The labels of the mesh on an application's pods; the same as on its Service, or this fails. */
export const enrolled = (world: World, application: string): Record<string, string> => {
  const { template, service: onService } = world.labels(application)
  const ofMesh = (labels: Record<string, string>) =>
    Object.fromEntries(Object.entries(labels).filter(([key]) => key.startsWith('istio.io/')))
  if (!isDeepStrictEqual(ofMesh(template), ofMesh(onService))) throw new Error(`${application} is half enrolled`)
  return ofMesh(template)
}

export const path = ({ metadata }: KubernetesObject): string =>
  `/apis/security.istio.io/v1/namespaces/${metadata.namespace}/authorizationpolicies/${metadata.name}`

/** Changes an object as another field manager would. */
export const edit = (world: World, where: string, patch: unknown, manager = 'kubectl-edit'): void => {
  const { status, body } = world.api.handle({
    method: 'PATCH',
    path: `${where}?fieldManager=${manager}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  })
  if (status !== 200) throw new Error(body)
}

export const remove = (world: World, where: string): void => {
  const { status, body } = world.api.handle({ method: 'DELETE', path: where, headers: {} })
  if (status !== 200) throw new Error(body)
}

/** The writes since `calls` were counted last, but for those of the memory. */
export const writes = ({ calls }: World): string[] =>
  calls.filter((call) => isWrite(call) && !call.includes('/configmaps')).map((call) => call.replace(/\?.*/, ''))

export const lists = ({ calls }: World, plural: string): string[] =>
  calls.filter((call) => new RegExp(`^GET .*/${plural}(\\?|$)`).test(call))

export type { MeshPolicy }
