import { describe, expect, test } from 'vitest'
import { findDifference } from '../../../src/ask/preview/difference/difference.ts'
import { createWorld, type World } from '../../../src/ask/preview/difference/world.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { ApiError } from '../../../src/platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { application, waypoint } from '../../helpers/mesh.ts'
import { event } from '../../helpers/world.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'
import { DENY_EVERYTHING, largeWorld } from './large.ts'
import { createPlace, type Place } from './planned.ts'
import { reading } from './reading.ts'

const inPb = (name: string) => application(name, { namespace: 'pb', labels: ON_MESH })

const DB = { application: 'db' }

/** How `pb/shop` is called in `shop`. */
const ALIAS = { namespace: 'pb', application: 'remote-shop' }

const crossModel = related(20, 'provide-cmr-mesh', ALIAS, DB, { interface: 'cross_model_mesh' })

/** `shop` and `pay` on the mesh in `pb`, without a beacon; `db` behind that of `shop`, which lets in `pb/shop`. */
const twoNamespaces = async (): Promise<Place> => {
  const place = createPlace(['db', 'web'])
  place.api.seed([ISTIO, ...inPb('shop'), ...inPb('pay')])
  for (const [type, data] of [
    ['config-changed', { application: 'beacon', config: { mesh: {} } }],
    ['config-changed', allowing(['GET', 'POST'])],
    ['relation-changed', requires(1, DB)],
    ['relation-changed', related(3, 'use', ALIAS, DB)],
    [
      'relation-changed',
      { ...crossModel, remote: { ...ALIAS, data: { cmr_data: '{"app_name": "shop", "juju_model_name": "pb"}' } } },
    ],
  ] as const)
    await place.happen(event(type, data))
  return place
}

const allowing = (methods: readonly string[]) => ({
  ...DB,
  config: { policies: [{ type: 'app', relation: 'use', endpoints: [{ methods }] }] },
})

describe('a plan names what is lost in other namespaces', () => {
  test('where the mesh is hardened', async () => {
    const place = await twoNamespaces()
    const plan = await place.plan({
      events: [event('config-changed', { application: 'beacon', config: { mesh: { hardened: true } } })],
    })
    expect(lines(plan)).toContain('- pb/shop → pb/pay :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('where the root namespace denies everything', async () => {
    const place = await twoNamespaces()
    const nothing = custom('nothing', { action: 'DENY', rules: [{}] }, { namespace: 'istio-system' })
    const plan = await place.plan({ objects: [nothing] })
    expect(lines(plan)).toContain('- pb/shop → pb/pay :9080')
    expect(lines(plan)).toContain('- (outside the mesh) → pb/pay (pods) :9080')
    expect(lines(plan)).toContain('- pb/shop → shop/db GET :80')
    expect(codeOf(plan)).toBe(2)
  })

  test('where a client of another namespace has its relation no more', async () => {
    const place = await twoNamespaces()
    const plan = await place.plan({ events: [event('relation-broken', { application: 'db', relation: { id: 3 } })] })
    expect(lines(plan)).toEqual(['- pb/shop → shop/db GET :80', '- pb/shop → shop/db POST :80'])
    expect(codeOf(plan)).toBe(2)
  })

  test('where a client of another namespace may do less', async () => {
    const place = await twoNamespaces()
    const plan = await place.plan({ events: [event('config-changed', allowing(['POST']))] })
    expect(lines(plan)).toEqual(['- pb/shop → shop/db GET :80'])
    expect(codeOf(plan)).toBe(2)
  })

  test('where a policy denies a namespace', async () => {
    const place = await twoNamespaces()
    const rules = [{ from: [{ source: { namespaces: ['pb'] } }] }]
    const plan = await place.plan({ objects: [custom('not-pb', { ...service('db'), action: 'DENY', rules })] })
    expect(lines(plan)).toEqual(['- pb/shop → shop/db GET :80', '- pb/shop → shop/db POST :80'])
    expect(codeOf(plan)).toBe(2)
  })
})

describe('a plan that much changes for', () => {
  const names = Array.from({ length: 80 }, (_, index) => `app-${String(index).padStart(2, '0')}`)
  const crowd = [ISTIO, namespace('shop'), ...names.flatMap((name) => onMesh(name))]

  test('a plan that much changes for names what is lost at the last of many applications, and who loses it as a group', async () => {
    const plan = await planned(crowd, { after: [custom('closed', { ...pods('app-79'), action: 'DENY', rules: [{}] })] })
    expect(lines(plan)).toEqual([
      '- (outside the mesh) → app-79 :9080',
      '- (outside the mesh) → app-79 (pods) :9080',
      '- everybody of shop → shop/app-79 :9080',
      '- everybody of shop → shop/app-79 (pods) :9080',
    ])
    expect(plan.access[2]).toMatchObject({ clients: ['shop/*'], to: 'shop/app-79', port: 9080, count: 80 })
    expect(codeOf(plan)).toBe(2)
  })

  test('a plan that much changes for says of a group who is not in it', async () => {
    const spared = { source: { notPrincipals: ['cluster.local/ns/shop/sa/app-03'] } }
    const rules = [{ from: [spared] }]
    const plan = await planned(crowd, { after: [custom('closed', { ...pods('app-79'), action: 'DENY', rules })] })
    expect(lines(plan)).toContain('- everybody of shop but shop/app-03 → shop/app-79 :9080')
    expect(plan.access.find(({ clients }) => clients)).toMatchObject({
      clients: ['shop/*'],
      notClients: ['shop/app-03'],
      count: 79,
    })
  })

  test('a plan that much changes for names those of its own namespace one by one where they are few, and many of others as a group', async () => {
    const far = [namespace('pa'), ...names.slice(0, 4).flatMap((name) => onMesh(name, 'pa'))]
    const own = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web')]
    const denied = custom('closed', { ...pods('db'), action: 'DENY', rules: [{}] })
    const plan = await planned([...own, ...far], { after: [denied] })
    expect(lines(plan).filter((line) => !line.includes('(pods)'))).toEqual([
      '- (outside the mesh) → db :9080',
      '- db → db :9080',
      '- web → db :9080',
      '- everybody of pa → shop/db :9080',
    ])
  })

  test('a plan that much changes for counts the namespaces of a group', async () => {
    const far = ['pa', 'pb'].flatMap((of) => [namespace(of), ...names.flatMap((name) => onMesh(name, of))])
    const denied = custom('closed', { ...pods('app-79'), action: 'DENY', rules: [{}] })
    const plan = await planned([...crowd, ...far], { after: [denied] })
    expect(lines(plan)).toContain('- everybody of 3 namespaces → shop/app-79 :9080')
    expect(plan.access.find(({ clients }) => clients)?.clients).toEqual(['pa/*', 'pb/*', 'shop/*'])
  })
})

describe('what a plan asks', () => {
  const questions = async (count: number, change: KubernetesObject) => {
    const before = largeWorld(count)
    const cluster = { said: new Map(), absent: new Set<never>(), unread: new Map() }
    const worlds = [before, [...before, change]].map((objects) => createWorld({ ...cluster, objects }))
    return await findDifference(worlds as [World, World])
  }

  test('what a plan asks grows with what changes, not with the pairs that there are', async () => {
    const [few, many] = [await questions(50, DENY_EVERYTHING), await questions(100, DENY_EVERYTHING)]
    expect([few.targets.length, many.targets.length]).toEqual([50, 100])
    expect(many.questions).toBe(2 * few.questions)
    expect(many.questions / many.targets.length).toBeLessThan(10)
  })

  test('what a plan asks is the same for one target, however many there are', async () => {
    const closed = custom('closed', { ...pods('app-7'), action: 'DENY', rules: [{}] }, { namespace: 'team-0' })
    const [few, many] = [await questions(25, closed), await questions(100, closed)]
    expect(few.targets).toEqual([{ kind: 'application', namespace: 'team-0', application: 'app-7' }])
    expect([many.targets, many.questions]).toEqual([few.targets, few.questions])
  })

  test('what a plan asks is of 500 applications a few questions each', async () => {
    const { found, questions: asked, left } = await questions(500, DENY_EVERYTHING)
    expect(new Set(found.map(({ to }) => to.application)).size).toBe(500)
    expect(left).toEqual([])
    expect(asked).toBeLessThan(5_000)
  })
})

describe('a plan says that it is not complete', () => {
  const closed = custom('closed', { ...pods('db'), action: 'DENY', rules: [{}] })
  const everywhere = custom('nothing', { action: 'DENY', rules: [{}] }, { namespace: 'istio-system' })
  const cluster = [ISTIO, ...['shop', 'pz'].map(namespace), ...onMesh('db'), ...onMesh('web'), ...onMesh('pay', 'pz')]

  /** The account of the functions may list Services, workloads and pods in `shop` alone. */
  const narrow = (objects: readonly KubernetesObject[]): Kubernetes => {
    const all = reading(objects)
    return {
      ...all,
      pages: async (kind, of, selector, keep) => {
        if (['Service', 'StatefulSet', 'Deployment', 'Pod'].includes(kind) && of !== 'shop')
          throw new ApiError(`LIST ${kind}`, 403, '{"kind":"Status","reason":"Forbidden"}', createMemo())
        return await all.pages(kind, of, selector, keep)
      },
    }
  }

  test('where what changes may concern a namespace that cannot be read', async () => {
    const plan = await planned(
      cluster,
      { after: [{ ...everywhere, spec: { action: 'ALLOW', rules: [{}] } }] },
      { kubernetes: narrow(cluster) },
    )
    expect(plan.incomplete).toEqual([
      'it is not known how access to the applications of pz changes: the functions may not list Service pz',
    ])
    expect([lines(plan), codeOf(plan)]).toEqual([[], 3])
  })

  test('a plan says that it is not complete, not where it concerns one that can be read, and names who loses access in the other', async () => {
    const denied = { ...closed, spec: { ...closed.spec, rules: [{ from: [{ source: { namespaces: ['pz'] } }] }] } }
    const plan = await planned(cluster, { after: [denied] }, { kubernetes: narrow(cluster) })
    expect(lines(plan)).toEqual(['- pz/* → shop/db :9080', '- pz/* → shop/db (pods) :9080'])
    expect([plan.incomplete, codeOf(plan)]).toEqual([[], 2])
  })

  test('a plan says that it is not complete, not where an account of a namespace that cannot be read is named: it is told', async () => {
    const rule = (account: string) => [{ from: [{ source: { principals: [`cluster.local/ns/pz/sa/${account}`] } }] }]
    const allowed = custom('allowed', { ...pods('db'), action: 'ALLOW', rules: rule('pay') })
    const changed = { ...allowed, spec: { ...allowed.spec, rules: rule('other') } }
    const plan = await planned(
      [...cluster, allowed],
      { before: [allowed], after: [changed] },
      { kubernetes: narrow(cluster) },
    )
    expect(lines(plan)).toContain('- pz/sa/pay → shop/db :9080')
    expect(lines(plan)).toContain('+ pz/sa/other → shop/db :9080')
  })

  test('where policies cannot be listed', async () => {
    const all = reading(cluster)
    const kubernetes: Kubernetes = {
      ...all,
      pages: async (kind, ...rest) => {
        if (kind === 'AuthorizationPolicy')
          throw new ApiError(`LIST ${kind}`, 403, '{"kind":"Status","reason":"Forbidden"}', createMemo())
        return await all.pages(kind, ...rest)
      },
    }
    const plan = await planned(cluster, { after: [closed] }, { kubernetes })
    expect(plan.incomplete).toEqual(['access is not compared: the functions may not list AuthorizationPolicy'])
    expect(codeOf(plan)).toBe(3)
  })

  test('where time runs out', async () => {
    let turns = 0
    const hasTime = () => {
      turns += 1
      return turns < 5
    }
    const plan = await planned(cluster, { after: [everywhere] }, { hasTime })
    expect(plan.incomplete).toEqual(['there was no time to compare 2 applications: shop/db, shop/web'])
  })

  test('where callers are of another mesh', async () => {
    const rules = [{ from: [{ source: { principals: ['elsewhere.example/ns/x/sa/y'] } }] }]
    const plan = await planned(cluster, { after: [custom('far', { ...pods('db'), action: 'DENY', rules })] })
    expect(plan.incomplete).toEqual([
      'callers of the trust domain elsewhere.example are not compared: it is of another mesh',
    ])
    expect(codeOf(plan)).toBe(3)
  })

  test('where something decides that is not in the cluster, before and after', async () => {
    const asked = (name: string) =>
      custom('tokens', {
        ...pods('db'),
        action: 'CUSTOM',
        provider: { name },
        rules: [{}],
      })
    const led = [
      ...cluster.filter(({ kind, metadata }) => !(kind === 'Service' && metadata.name === 'db')),
      ...application('db', { labels: { ...ON_MESH, 'istio.io/use-waypoint': 'w' } }).slice(1),
      waypoint({ metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } } }),
    ]
    const of = (name: string) => ({
      ...asked(name),
      spec: { ...asked(name).spec, selector: undefined, ...service('db') },
    })
    const plan = await planned([...led, of('one')], { before: [of('one')], after: [of('other')] })
    expect(plan.incomplete).toEqual([
      expect.stringMatching(/^whether access to shop\/db changes is not known: .* external authorizer other/),
    ])
    expect(codeOf(plan)).toBe(3)
  })

  test('where access would be lost that whoever asks may not see', async () => {
    const denied = { ...everywhere, metadata: { name: 'nothing', namespace: 'pz' } }
    const plan = await planned(cluster, { after: [denied] }, { sees: async ({ namespace: of }) => of === 'shop' })
    expect(plan.access).toEqual([])
    expect(plan.incomplete).toEqual(['access of applications that you may not send events about is lost, or may be'])
    expect(codeOf(plan)).toBe(3)
  })
})

describe('a plan knows', () => {
  const cluster = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web')]

  test('jobs and daemons by their accounts', async () => {
    const job: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'backup-1', namespace: 'shop', labels: ON_MESH },
      spec: { serviceAccountName: 'backup', containers: [{ name: 'c' }] },
      status: { phase: 'Running' },
    }
    const rules = [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/backup'] } }] }]
    const plan = await planned([...cluster, job], { after: [custom('no', { ...pods('db'), action: 'DENY', rules })] })
    expect(lines(plan)).toEqual(['- shop/sa/backup → shop/db :9080', '- shop/sa/backup → shop/db (pods) :9080'])
  })

  test('a plan knows blocks of addresses outside the mesh', async () => {
    const rules = [{ from: [{ source: { ipBlocks: ['10.0.0.0/8'], notIpBlocks: ['10.1.0.0/16'] } }] }]
    const plan = await planned(cluster, { after: [custom('no', { ...pods('db'), action: 'DENY', rules })] })
    expect(lines(plan)).toContain('- (outside the mesh, 10.0.0.0/8 (not 10.1.0.0/16)) → db :9080')
    expect(lines(plan).filter((line) => line.includes('outside'))).toHaveLength(2)
  })

  test('a port that nothing names, where policies name all others', async () => {
    const rules = [{ to: [{ operation: { notPorts: ['9080'] } }] }]
    const plan = await planned(cluster, { after: [custom('no', { ...pods('db'), action: 'DENY', rules })] })
    expect(lines(plan)).toEqual([
      '- (outside the mesh) → db (pods) :(not 9080)',
      '- db → db (pods) :(not 9080)',
      '- web → db (pods) :(not 9080)',
    ])
    expect(plan.access[0]).toMatchObject({ notPorts: [9080] })
  })

  test('a client that is taken off the mesh, at each target that its account is let into', async () => {
    const rules = [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/web'] } }] }]
    const allowed = custom('allowed', { ...pods('db'), action: 'ALLOW', rules })
    const off = application('web', { labels: {} })
    const [web] = onMesh('web')
    const plan = await planned([...cluster, allowed], { before: web ? [web] : [], after: off.slice(0, 1) })
    expect(lines(plan)).toEqual(['- web → db :9080', '- web → db (pods) :9080'])
  })
})
