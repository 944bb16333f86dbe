import { describe, expect, test } from 'vitest'
import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import { isDenying } from '../../../src/mesh/istio/authorization-policy.ts'
import { ask, BEACON, configure, createMesh, policiesIn, requires, wire } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DRY = 'istio.io/dry-run'
const DB = { application: 'db' }

const UNIT = wire({ target_type: 'unit', endpoints: [{ hosts: null, ports: [80], methods: null, paths: null }] })

const dryRuns = (world: World): Record<string, string | undefined> =>
  Object.fromEntries(
    policiesIn(world).map(({ metadata }) => [metadata.name.replace(/-[0-9a-f]{10}$/, ''), metadata.annotations?.[DRY]]),
  )

const createAudited = async (mesh: object) => {
  const world = createMesh(['db', 'web'], false)
  await configure(world, { mesh })
  return { world, outcome: await ask(world, [wire(), UNIT]) }
}

describe('a beacon in audit', () => {
  test('a beacon in audit writes what waypoints enforce as dry runs, and leaves out and tells what ztunnels would', async () => {
    const { world, outcome } = await createAudited({ enforcement: 'audit' })
    expect(dryRuns(world)).toEqual({ 'beacon-shop-policy-db': 'true' })
    expect(outcome.messages).toEqual([
      expect.stringMatching(
        /^enforcement is audit: these policies are left out, because ztunnels and external authorizers support no dry run: shop\/beacon-shop-policy-db-/,
      ),
      'enforcement is audit: requests that its dry runs would refuse are not shown here: waypoints count them, and meshstep traffic shows them where a Prometheus is known',
    ])
    expect(policiesIn(world).some(isDenying)).toBe(false)
  })

  test('a beacon in audit closes nothing with a hardened mesh or an ingress', async () => {
    const { world, outcome } = await createAudited({
      enforcement: 'audit',
      hardened: true,
      rootNamespace: 'shop',
      externalTraffic: [],
      externalAuthorizer: 'oidc',
    })
    expect(dryRuns(world)).toEqual({
      'beacon-shop-policy-db': 'true',
      'beacon-shop-policy-global-allow-nothing-waypoint': 'true',
      'beacon-shop-external-traffic': 'true',
    })
    const leftOut = outcome.messages.find((message) => message.startsWith('enforcement is audit'))
    expect(leftOut).toContain('shop/ext-authz-beacon')
    expect(leftOut).toContain('shop/beacon-shop-policy-global-allow-nothing-ztunnel')
    expect(policiesIn(world).some(isDenying)).toBe(false)
  })

  test('a beacon in audit enforces with one apply, and a second writes nothing', async () => {
    const { world } = await createAudited({ enforcement: 'audit' })
    const specs = policiesIn(world).map(({ spec }) => spec)
    await configure(world, { mesh: { enforcement: 'enforce' } })
    expect(dryRuns(world)).toEqual({ 'beacon-shop-policy-db': undefined })
    expect(policiesIn(world)).toHaveLength(2)
    for (const spec of specs) expect(policiesIn(world).map((policy) => policy.spec)).toContainEqual(spec)
    expect((await configure(world, { mesh: { enforcement: 'enforce' } })).status).toBe('unchanged')
    await configure(world, { mesh: { enforcement: 'audit' } })
    expect(dryRuns(world)).toEqual({ 'beacon-shop-policy-db': 'true' })
    expect((await configure(world, { mesh: { enforcement: 'audit' } })).status).toBe('unchanged')
  })
})

describe('an application in audit', () => {
  const policies = [{ type: 'app', relation: 'db', endpoints: [] }]
  const relation = { relation: { id: 3, endpoint: 'db', interface: 'http', role: 'provides' } }
  const looks = async (world: World) => {
    for (const one of [BEACON, DB]) await world.send('resync', one)
  }

  test('an application in audit is audited by its beacon, which enforces what others ask for, and enforced when it says so', async () => {
    const world = createMesh(['db', 'web'], false)
    await configure(world, { mesh: {} })
    await ask(world, [wire({ target_app_name: 'web', source_app_name: 'db' })], { id: 8, application: 'web' })
    await configure(world, { policies, enforcement: 'audit' }, DB)
    await world.send('relation-changed', { ...DB, ...relation, remote: { application: 'web', data: {} } })
    await world.send('relation-changed', requires(7, DB))
    await looks(world)
    expect(dryRuns(world)).toEqual({ 'beacon-shop-policy-db': 'true', 'beacon-shop-policy-web': undefined })
    await configure(world, { policies, enforcement: 'enforce' }, DB)
    await looks(world)
    expect(dryRuns(world)).toEqual({ 'beacon-shop-policy-db': undefined, 'beacon-shop-policy-web': undefined })
  })

  const raw = (name: string, spec: AuthorizationPolicy['spec']) => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name },
    spec: { targetRefs: [{ kind: 'Service', name: 'db' }], ...spec },
  })

  test('an application in audit audits the policies of its own, and leaves an AUDIT as it is', async () => {
    const world = createMesh(['db', 'web'], false)
    const rawPolicies = [
      raw('deny', { action: 'DENY', rules: [{}] }),
      raw('audit', { action: 'AUDIT', rules: [{}] }),
      raw('ask', { action: 'CUSTOM', provider: { name: 'oidc' }, rules: [{}] }),
    ]
    const outcome = await configure(world, { rawPolicies, enforcement: 'audit' }, DB)
    expect(dryRuns(world)).toEqual({ deny: 'true', audit: undefined })
    expect(outcome.messages).toContainEqual(expect.stringMatching(/^enforcement is audit: .*: shop\/ask$/))
  })

  test.each(['dry', '', true])('an application in audit may not be %j instead', async (enforcement) => {
    const world = createMesh(['db'], false)
    await expect(configure(world, { enforcement }, DB)).rejects.toThrow(/enforcement: expected audit or enforce/)
  })
})
