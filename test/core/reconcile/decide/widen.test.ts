import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { execute } from '../../../../src/core/reconcile/apply/execute.ts'
import { plan } from '../../../../src/core/reconcile/decide/plan.ts'
import type { Situation } from '../../../../src/core/reconcile/decide/situation.ts'
import { inParts } from '../../../../src/core/reconcile/decide/widen.ts'
import { findNamesakes, type Observed } from '../../../../src/core/reconcile/observe/cluster.ts'
import { unknownIn } from '../../../../src/core/relations/unknown.ts'
import { emptyState } from '../../../../src/core/state/state.ts'
import { createEmbeddedApi } from '../../../../src/embedded/api/api.ts'
import { features } from '../../../../src/features.ts'
import {
  type AuthorizationPolicy,
  type AuthorizationPolicySpec,
  authorizationPolicy,
} from '../../../../src/mesh/istio/authorization-policy.ts'
import { hardenedMode } from '../../../../src/mesh/istio/beacon-policies.ts'
import { splitGrantees } from '../../../../src/mesh/istio/policy-parts.ts'
import { rulesFor } from '../../../../src/mesh/istio/rules.ts'
import { createKubernetes, followingOwnWrites, type Kubernetes } from '../../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { fieldManager, ownerLabels, ownerSelector } from '../../../../src/platform/kubernetes/ownership-labels.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { runs } from '../../../helpers/runs.ts'
import { NOTHING_DESIRED } from '../../../helpers/situations.ts'

const SUBJECT = { namespace: 'shop', application: 'beacon' }
const OWNER = { ...SUBJECT, labels: ownerLabels(SUBJECT) }
const LIMITS = { rules: 2, bytes: 1024 * 1024 }
const CLIENTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const PORTS = ['80', '81', '82']

/** The ports of each client; a target without grants is open, or guarded by an object that allows nothing. */
type Granted = Readonly<Record<string, readonly string[]>> | 'open' | 'nothing'

const policiesFor = (granted: Granted): AuthorizationPolicy[] => {
  if (granted === 'open') return []
  const holders = granted === 'nothing' ? [] : Object.entries(granted).map(([name, ports]) => ({ name, ports }))
  const parts = splitGrantees(
    holders.map(({ name, ports }) => ({ principal: name, rights: [{ ports: [...ports] }], relations: [] })),
    LIMITS,
  )
  return parts.map(({ path, holders: some }) =>
    authorizationPolicy({
      metadata: { name: `db${path && `-${path}`}`, namespace: 'shop', labels: OWNER.labels },
      spec: { targetRefs: [{ group: '', kind: 'Service', name: 'db' }], action: 'ALLOW', rules: rulesFor(some) },
    }),
  )
}

type Call = { client: string; port: string }

const CALLS: Call[] = ['stranger', ...CLIENTS].flatMap((client) => PORTS.map((port) => ({ client, port })))

const isAllowed = (policies: readonly KubernetesObject[], isHardened: boolean, { client, port }: Call): boolean => {
  const guarding = policies.filter(({ metadata }) => metadata.name.startsWith('db'))
  if (guarding.length === 0) return !isHardened
  return guarding
    .flatMap(({ spec }) => (spec as AuthorizationPolicySpec).rules ?? [])
    .some(
      ({ from = [], to }) =>
        from.some(({ source }) => source?.principals?.includes(client)) &&
        (to === undefined || to.some(({ operation }) => operation?.ports?.includes(port))),
    )
}

const isPolicy = ({ kind }: KubernetesObject) => kind === 'AuthorizationPolicy'

const situationOf = async (kubernetes: Kubernetes, objects: readonly KubernetesObject[]): Promise<Situation> => {
  const live = await kubernetes.list('AuthorizationPolicy', undefined, ownerSelector(SUBJECT))
  const observed: Observed = {
    lookups: new Map(),
    owned: { kinds: [{ kind: 'AuthorizationPolicy', live, library: [] }] },
    targets: { current: [], earlier: [], library: [] },
    running: {},
  }
  const labels = { labels: {}, unknown: [], required: false, messages: [] }
  return {
    features,
    subject: SUBJECT,
    state: { ...emptyState(), config: { mesh: {} } },
    unknown: unknownIn({ ...emptyState(), config: { mesh: {} }, relations: {} }),
    heldLabels: {},
    waitForPods: undefined,
    observed,
    namesakes: await findNamesakes(kubernetes, observed.owned, { objects }),
    desired: { ...NOTHING_DESIRED, labels, objects },
    keptFor: [],
    unenforced: [],
    labelsAwaited: [],
    isClaimAwaited: false,
    leftovers: [],
  }
}

/** Goes from one to the other, and answers with the policies after each write. */
const momentsOf = async (before: Granted, after: Granted, isHardened: boolean): Promise<KubernetesObject[][]> => {
  const clock = fakeClock()
  const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
  for (const name of ['shop', 'istio-system']) api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
  const kubernetes = followingOwnWrites(
    createKubernetes({ transport: async (request) => api.handle(request), clock, deadline: clock.now() + 10_000 }),
  )
  const always = isHardened ? hardenedMode(OWNER, 'istio-system') : []
  for (const object of [...always, ...policiesFor(before)])
    await kubernetes.apply(object, fieldManager(SUBJECT.application))
  const moments: KubernetesObject[][] = []
  const look = () => moments.push(api.objects().filter(isPolicy))
  look()
  api.subscribe(look)
  const { operations } = plan({
    situation: await situationOf(kubernetes, [...always, ...policiesFor(after)]),
    failed: new Set(),
  })
  const { reports } = await execute(kubernetes, operations, {
    ...{ failed: [], confirmCurrent: async () => true },
    isDenying: features.mesh.isDenying,
  })
  expect(reports?.filter(({ refused, skipped }) => refused ?? skipped)).toEqual([])
  return moments
}

const check = async (before: Granted, after: Granted, isHardened: boolean): Promise<void> => {
  const moments = await momentsOf(before, after, isHardened)
  const [first = [], last = []] = [moments[0], moments.at(-1)]
  const specs = (policies: readonly KubernetesObject[]) =>
    policies.flatMap(({ metadata, spec }) => (metadata.name.startsWith('db') ? [[metadata.name, spec]] : [])).toSorted()
  expect(specs(last)).toEqual(specs(policiesFor(after)))
  for (const call of CALLS) {
    const [wasAllowed, willBeAllowed] = [first, last].map((policies) => isAllowed(policies, isHardened, call))
    if (wasAllowed !== willBeAllowed) continue
    for (const policies of moments) expect([call, isAllowed(policies, isHardened, call)]).toEqual([call, wasAllowed])
  }
}

/** Rights of three kinds, which are several objects. */
const many: Granted = Object.fromEntries(CLIENTS.map((client, index) => [client, PORTS.slice(0, 1 + (index % 3))]))

const granted: fc.Arbitrary<Granted> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<Granted>('open', 'nothing') },
  {
    weight: 4,
    arbitrary: fc.dictionary(fc.constantFrom(...CLIENTS), fc.subarray(PORTS, { minLength: 1 }), { minKeys: 1 }),
  },
)

describe('at every moment between two sets of grants', () => {
  test('whoever may before and after may, and whoever may neither before nor after may not', async () => {
    await fc.assert(
      fc.asyncProperty(granted, granted, fc.boolean(), async (before, after, isHardened) => {
        await check(before, after, isHardened)
      }),
      { numRuns: runs(300) },
    )
  })

  test.each<[string, Granted, Granted]>([
    ['an open target becomes guarded in parts', 'open', many],
    ['a target in parts becomes open', many, 'open'],
    ['a target that allowed nothing is granted in parts', 'nothing', many],
    ['a target in parts allows nothing', many, 'nothing'],
  ])('%s', async (_, before, after) => {
    expect(policiesFor(many).length).toBeGreaterThan(2)
    await check(before, after, false)
    await check(before, after, true)
  })
})

test('a new part of a target stands before another part is narrowed, in whatever order they are desired', () => {
  const [narrowed, ...added] = policiesFor(many)
  if (narrowed === undefined || added.length === 0) throw new Error('expected parts of a target')
  const pairs = [{ desired: narrowed, live: narrowed }, ...added.map((desired) => ({ desired, live: undefined }))]
  const names = inParts(features.mesh, pairs, [narrowed]).map(({ desired }) => desired.metadata.name)
  expect(names).toEqual([...added, narrowed].map(({ metadata }) => metadata.name))
})
