import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { meshPolicy } from '../mesh/istio/samples.ts'
import { DEEP, numbered, OWN, TEMPLATE, WIDE } from './race.ts'
import { runScenarios } from './run-scenarios.ts'
import { call, type Scenario } from './scenario.ts'

/** `sources` may reach the pods of `web`, which grants it itself. */
const config = (sequence: number, sources: readonly string[], more: Record<string, unknown> = {}) => {
  const policies = sources.map((source) =>
    meshPolicy({ source_app_name: source, target_app_name: 'web', target_type: 'unit' }),
  )
  return numbered(sequence, 'config-changed', { config: { meshPolicies: policies, ...more } })
}

/** As a beacon without a waypoint, `web` holds its own labels, and may harden the mesh. */
const beacon = (hardened: boolean) => ({ mesh: { waypoint: false, hardened, rootNamespace: 'shop' } })

const WEB = 'web-shop-policy-web-7eda583466'
const NOTHING = {
  'web-shop-policy-global-allow-nothing-waypoint': [],
  'web-shop-policy-global-allow-nothing-ztunnel': [],
}
const MESH = { 'istio.io/dataplane-mode': 'ambient' }
const ON_MESH = { template: { ...TEMPLATE, ...MESH }, service: { ...OWN, ...MESH }, memory: MESH }
const OFF_MESH = { template: TEMPLATE, service: OWN, memory: {} }

const named = (objects: readonly KubernetesObject[], name: string) =>
  objects.find(({ kind, metadata }) => kind === 'AuthorizationPolicy' && metadata.name.includes(name))

const isEnrolled = (objects: readonly KubernetesObject[]): boolean =>
  objects.some(({ kind, spec }) => kind === 'StatefulSet' && JSON.stringify(spec?.template).includes('dataplane-mode'))

/** Once on the mesh, or once the mesh is hardened, whoever may reach the application can. */
const isLockedOut = (objects: readonly KubernetesObject[]): string | undefined => {
  if (named(objects, 'policy-web-')) return undefined
  if (isEnrolled(objects)) return 'on the mesh without its policy'
  return named(objects, 'allow-nothing') ? 'hardened without its policy' : undefined
}

const isUnguarded = (objects: readonly KubernetesObject[]): string | undefined =>
  named(objects, 'policy-web-') ? undefined : 'the target is without its policy'

const scenarios: Scenario[] = [
  {
    name: 'who may reach a target changes twice: it is never without its policy',
    before: [config(1, ['a'])],
    race: [config(2, ['a', 'b']), config(3, ['b'])],
    ends: { ...OFF_MESH, policies: { [WEB]: ['b'] } },
    never: isUnguarded,
    bounds: DEEP,
  },
  {
    name: 'a beacon joins the mesh and hardens it: what is allowed is allowed before',
    race: [config(1, ['a'], beacon(true)), numbered(2, 'resync', {})],
    ends: { ...ON_MESH, policies: { [WEB]: ['a'], ...NOTHING } },
    never: isLockedOut,
    bounds: WIDE,
  },
  {
    name: 'a beacon hardens the mesh while a policy changes',
    before: [config(1, ['a'], beacon(false))],
    race: [config(2, ['a'], beacon(true)), config(3, ['b'], beacon(true))],
    ends: { ...ON_MESH, policies: { [WEB]: ['b'], ...NOTHING } },
    never: isLockedOut,
    bounds: WIDE,
  },
  {
    name: 'an application leaves with a crash at any point: off the mesh before its policy goes',
    before: [config(1, ['a'], beacon(true))],
    race: [numbered(2, 'application-removed', {})],
    after: [numbered(2, 'application-removed', {})],
    ends: { ...OFF_MESH, policies: {} },
    never: isLockedOut,
    bounds: { preemptions: 0, crashes: 2, losses: 0 },
  },
  {
    name: 'somebody takes the name of a policy at that moment',
    before: [],
    race: [
      config(1, ['a']),
      call('POST', '/apis/security.istio.io/v1/namespaces/{namespace}/authorizationpolicies', {
        apiVersion: 'security.istio.io/v1',
        kind: 'AuthorizationPolicy',
        metadata: { name: WEB },
        spec: { rules: [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/theirs'] } }] }] },
      }),
    ],
    after: [
      call('DELETE', `/apis/security.istio.io/v1/namespaces/{namespace}/authorizationpolicies/${WEB}`),
      numbered(2, 'resync', {}),
    ],
    ends: { ...OFF_MESH, policies: { [WEB]: ['a'] } },
    bounds: WIDE,
  },
]

runScenarios('policies', scenarios)
