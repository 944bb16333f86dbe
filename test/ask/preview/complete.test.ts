import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'

const cluster = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web')]

const allowing = (...principals: string[]) =>
  custom('allowed', { ...pods('db'), action: 'ALLOW', rules: [{ from: [{ source: { principals } }] }] })

const account = (name: string, of = 'shop') => `cluster.local/ns/${of}/sa/${name}`

/** A pod that no StatefulSet and no Deployment has: one by itself, or of `owner`. */
const pod = (
  name: string,
  {
    of = 'shop',
    labels = {},
    owner,
    spec = {},
  }: { of?: string; labels?: Record<string, string>; owner?: string; spec?: object } = {},
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: of,
    labels: { role: 'alone', ...labels },
    ...(owner !== undefined && {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: owner, uid: owner, controller: true }],
    }),
  },
  spec: { serviceAccountName: 'backup', containers: [{ name: 'c', ports: [{ containerPort: 9100 }] }], ...spec },
  status: { phase: 'Running' },
})

/** The waypoint `w` of `shop`. */
const gateway: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
  status: { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] },
}

describe('a plan tells what is lost by', () => {
  test('an application that talks to itself', async () => {
    const allowed = allowing(account('db'))
    const plan = await planned([...cluster, allowed], { before: [allowed], after: [allowing(account('nobody'))] })
    expect(lines(plan)).toContain('- db → db :9080')
    expect(lines(plan)).toContain('- db → db (pods) :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('an account that a policy names, and that no pod runs as at the moment: a job between two runs', async () => {
    const allowed = allowing(account('web'), account('nightly'))
    const plan = await planned([...cluster, allowed], { before: [allowed], after: [allowing(account('web'))] })
    expect(lines(plan)).toEqual(['- shop/sa/nightly → shop/db :9080', '- shop/sa/nightly → shop/db (pods) :9080'])
    expect(codeOf(plan)).toBe(2)
  })

  test('a pod without a workload, whose namespace leaves the mesh', async () => {
    const jobs = { ...namespace('jobs'), metadata: { name: 'jobs', labels: ON_MESH } }
    const allowed = allowing(account('backup', 'jobs'))
    const plan = await planned([...cluster, jobs, pod('backup-1', { of: 'jobs' }), allowed], {
      before: [jobs],
      after: [namespace('jobs')],
    })
    expect(lines(plan)).toContain('- jobs/sa/backup → shop/db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('a pod without a workload, whose namespace joins the mesh, and which passes a waypoint from then on', async () => {
    const led = application('api', { labels: { ...ON_MESH, 'istio.io/use-waypoint': 'w' } })
    const rules = [{ from: [{ source: { principals: [account('web')] } }] }]
    const guard = custom('guard', { ...service('api'), action: 'ALLOW', rules })
    const jobs = { ...namespace('jobs'), metadata: { name: 'jobs', labels: ON_MESH } }
    const plan = await planned(
      [ISTIO, namespace('shop'), ...led, gateway, guard, namespace('jobs'), pod('backup-1', { of: 'jobs' })],
      { before: [namespace('jobs')], after: [jobs] },
      { autoAllowWaypoint: false },
    )
    expect(lines(plan)).toEqual(['- jobs/sa/backup → shop/api :9080'])
    expect(codeOf(plan)).toBe(2)
  })

  test('whoever talks to pods that neither a workload nor a Service has', async () => {
    const denied = custom('closed', { selector: { matchLabels: { role: 'alone' } }, action: 'DENY', rules: [{}] })
    const alone = pod('toolbox', { labels: ON_MESH })
    const plan = await planned([...cluster, alone], { after: [denied] })
    expect(lines(plan)).toContain('- web → pod/toolbox (pods) :9100')
    expect(codeOf(plan)).toBe(2)
  })

  test('whoever talks to the pods of a DaemonSet, which are told by its name', async () => {
    const denied = custom('closed', { selector: { matchLabels: { role: 'alone' } }, action: 'DENY', rules: [{}] })
    const each = ['a', 'b'].map((one) => pod(`exporter-${one}`, { labels: ON_MESH, owner: 'exporter' }))
    const plan = await planned([...cluster, ...each], { after: [denied] })
    expect(lines(plan).filter((line) => line.startsWith('- web'))).toEqual(['- web → pod/exporter (pods) :9100'])
  })

  const owned = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'old-abc', uid: 'r', controller: true }
  test.each([
    ['a Deployment left behind as it was deleted', owned],
    [
      'a StatefulSet of another group has',
      { ...owned, apiVersion: 'apps.kruise.io/v1', kind: 'StatefulSet', name: 'old' },
    ],
  ])('whoever talks to pods that %s, and these themselves', async (_, owner) => {
    const { metadata, ...rest } = pod('old-abc-1', { labels: { ...ON_MESH, 'pod-template-hash': 'abc' } })
    const left = { ...rest, metadata: { ...metadata, ownerReferences: [owner] } }
    const denied = custom('closed', { selector: { matchLabels: { role: 'alone' } }, action: 'DENY', rules: [{}] })
    const target = await planned([...cluster, left], { after: [denied] })
    expect(lines(target)).toContain('- web → pod/old (pods) :9100')
    const closed = await planned([...cluster, left], { after: [allowing(account('web'))] })
    expect(lines(closed)).toContain('- shop/sa/backup → shop/db :9080')
  })

  test('a workload that is deleted, whose pods go with it', async () => {
    const [workload] = onMesh('web')
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'web', controller: true }
    const { metadata, ...rest } = pod('web-0', { labels: { ...ON_MESH, 'app.kubernetes.io/name': 'web' } })
    const objects = [
      ...cluster.filter((one) => !(one.kind === 'StatefulSet' && one.metadata.name === 'web')),
      { ...rest, metadata: { ...metadata, ownerReferences: [owner] } },
    ]
    const web = { ...workload, metadata: { ...workload?.metadata, uid: 'web' } } as KubernetesObject
    const plan = await planned([...objects, web], { before: [web] })
    expect(lines(plan)).toContain('? db → web :9080 (allowed → undecided)')
    expect(lines(plan).filter((line) => line.includes('pod/web'))).toEqual([])
    expect(codeOf(plan)).toBe(2)
  })

  test('a port of a Service that carries UDP from now on', async () => {
    const [workload, exposed] = onMesh('api') as [KubernetesObject, KubernetesObject]
    const udp = { ...exposed, spec: { ...exposed.spec, ports: [{ port: 9080, protocol: 'UDP' }] } }
    const plan = await planned([...cluster, workload, exposed], { before: [exposed], after: [udp] })
    expect(lines(plan)).toContain('? web → api :9080 (allowed → undecided)')
    expect(codeOf(plan)).toBe(2)
  })

  test('a policy of the port that TCP has, where a port of UDP has its number and leads elsewhere', async () => {
    const [workload, exposed] = onMesh('dns') as [KubernetesObject, KubernetesObject]
    const ports = [
      { name: 'udp', port: 53, protocol: 'UDP', targetPort: 5353 },
      { name: 'tcp', port: 53, targetPort: 1053 },
    ]
    const rules = [{ to: [{ operation: { ports: ['1053'] } }] }]
    const denied = custom('closed', { ...pods('dns'), action: 'DENY', rules })
    const served = { ...exposed, spec: { ...exposed.spec, ports } }
    const plan = await planned([...cluster, workload, served], { after: [denied] })
    expect(lines(plan)).toContain('- web → dns :53')
  })

  test('a pod alone that leaves the mesh', async () => {
    const allowed = allowing(account('backup'))
    const before = pod('toolbox', { labels: ON_MESH })
    const plan = await planned([...cluster, before, allowed], { before: [before], after: [pod('toolbox')] })
    expect(lines(plan)).toContain('- shop/sa/backup → shop/db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test.each([
    ['that selects no pods of the moment', { selector: { job: 'nightly' } }],
    ['without a selector, whose endpoints somebody else writes', {}],
  ])('clients of a Service %s, at its waypoint', async (_, spec) => {
    const exposed: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'outer', namespace: 'shop', labels: { 'istio.io/use-waypoint': 'w' } },
      spec: { ports: [{ port: 80 }], ...spec },
    }
    const closed = custom('closed', { ...service('outer'), action: 'DENY', rules: [{}] })
    const plan = await planned([...cluster, gateway, exposed], { after: [closed] })
    expect(lines(plan)).toContain('? web → outer :80 (undecided → denied)')
    expect(codeOf(plan)).toBe(3)
  })

  test.each([
    ['an ending', '/a/{*}', '*.js', '*.js & /a/{*}'],
    ['a beginning', '{**}/b', '/a/*', '/a/* & {**}/b'],
    ['another template', '/a/{*}', '/{*}/b', '/a/{*} & /{*}/b'],
  ])('requests that match a path template and %s', async (_, path, denied, both) => {
    const led = application('api', { labels: { ...ON_MESH, 'istio.io/use-waypoint': 'w' } })
    const allowed = custom('allowed', {
      ...service('api'),
      action: 'ALLOW',
      rules: [{ to: [{ operation: { paths: [path] } }] }],
    })
    const closed = custom('closed', {
      ...service('api'),
      action: 'DENY',
      rules: [{ to: [{ operation: { paths: [denied] } }] }],
    })
    const plan = await planned([...cluster, ...led, gateway, allowed], { after: [closed] })
    expect(lines(plan)).toContain(`- web → api :9080 ${both}`)
    expect(codeOf(plan)).toBe(2)
  })

  test('requests of more segments than a path template has that a prefix is wider than', async () => {
    const led = application('api', { labels: { ...ON_MESH, 'istio.io/use-waypoint': 'w' } })
    const allowing = (path: string) =>
      custom('allowed', { ...service('api'), action: 'ALLOW', rules: [{ to: [{ operation: { paths: [path] } }] }] })
    const [before, after] = [allowing('/a/*'), allowing('/a/{*}')]
    const plan = await planned([...cluster, ...led, gateway, before], { before: [before], after: [after] })
    expect(lines(plan)).toContain('- web → api :9080 /a/* (not /a/{*})')
    expect(codeOf(plan)).toBe(2)
  })
})
