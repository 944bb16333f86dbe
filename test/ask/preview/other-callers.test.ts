import { describe, expect, test } from 'vitest'
import type { Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'

const cluster = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web')]
const OWN: Rule = { from: [{ source: { principals: ['cluster.local/ns/shop/sa/web'] } }] }

const allowing = (...rules: Rule[]) => custom('allowed', { ...pods('db'), action: 'ALLOW', rules })

const withoutRule = (rule: Rule) =>
  planned([...cluster, allowing(OWN, rule)], { before: [allowing(OWN, rule)], after: [allowing(OWN)] })

describe('a plan tells what is lost by everybody of a namespace in which nobody is known to run', () => {
  test.each<[string, Rule]>([
    ['that a policy names', { from: [{ source: { namespaces: ['far'] } }] }],
    ['that a pattern of principals is about', { from: [{ source: { principals: ['cluster.local/ns/far/*'] } }] }],
    ['that a condition names', { when: [{ key: 'source.namespace', values: ['far'] }] }],
  ])('%s', async (_, rule) => {
    const plan = await withoutRule(rule)
    expect(lines(plan)).toEqual(['- far/* → shop/db :9080', '- far/* → shop/db (pods) :9080'])
    expect(codeOf(plan)).toBe(2)
  })
})

describe('a plan tells what is lost by accounts that a pattern alone names, and that nothing runs as at the moment', () => {
  const from = (...principals: string[]): Rule => ({ from: [{ source: { principals } }] })
  const nightly = application('x-nightly', { labels: ON_MESH, podSpec: { serviceAccountName: 'x-nightly' } })

  test.each<[string, Rule, string]>([
    ['by a beginning', from('cluster.local/ns/shop/sa/x*'), 'shop/sa/x*'],
    ['by an ending', from('*-job'), '*/sa/*-job'],
    ['in any namespace', from('*/sa/nightly'), '*/sa/nightly'],
    ['in a condition', { when: [{ key: 'source.principal', values: ['*/sa/nightly'] }] }, '*/sa/nightly'],
    ['in namespaces of a beginning', { from: [{ source: { namespaces: ['far-*'] } }] }, 'far-*/*'],
  ])('%s', async (_, rule, name) => {
    const plan = await withoutRule(rule)
    expect(lines(plan)).toEqual([`- ${name} → shop/db :9080`, `- ${name} → shop/db (pods) :9080`])
    expect(codeOf(plan)).toBe(2)
  })

  test('where another pattern, of which somebody runs as well, has only some of them', async () => {
    const allowed = allowing(OWN, from('cluster.local/ns/shop/sa/x*'))
    const denied = custom('denied', { ...pods('db'), action: 'DENY', rules: [from('*-job')] })
    const other = application('y-job', { labels: ON_MESH, podSpec: { serviceAccountName: 'y-job' } })
    const plan = await planned([...cluster, ...nightly, ...other, allowed], { after: [denied] })
    expect(lines(plan)).toContain('- shop/sa/x*-job → shop/db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('where all that run in the namespace are named by themselves as well', async () => {
    const both = [from('cluster.local/ns/shop/sa/web', 'cluster.local/ns/shop/sa/db'), from('cluster.local/ns/shop/*')]
    const plan = await planned([...cluster, allowing(...both)], {
      before: [allowing(...both)],
      after: [allowing(...both.slice(0, 1))],
    })
    expect(lines(plan)).toContain('- shop/sa/* → shop/db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('a plan tells what is lost by accounts that a pattern alone names, and that nothing runs as at the moment, and of one that runs, which stands for all whom the pattern names, it tells nothing twice', async () => {
    const rule = from('cluster.local/ns/shop/sa/x*')
    const plan = await planned([...cluster, ...nightly, allowing(OWN, rule)], {
      before: [allowing(OWN, rule)],
      after: [allowing(OWN)],
    })
    expect(lines(plan)).toEqual(['- x-nightly → db :9080', '- x-nightly → db (pods) :9080'])
  })
})

describe('a plan says that callers of another trust domain are not compared', () => {
  test.each<[string, Rule]>([
    ['which a principal names', { from: [{ source: { principals: ['partner.example/ns/pay/sa/till'] } }] }],
    ['which a pattern of principals names', { from: [{ source: { principals: ['partner.example/*'] } }] }],
    ['which a condition names', { when: [{ key: 'source.principal', values: ['partner.example/ns/pay/sa/till'] }] }],
    ['which a source names', { from: [{ source: { trustDomains: ['partner.example'] } }] }],
    [
      'which a condition of trust domains names',
      { when: [{ key: 'source.trustDomain', values: ['partner.example'] }] },
    ],
  ])('%s', async (_, rule) => {
    const { incomplete = [] } = await withoutRule(rule)
    expect(incomplete.join('\n')).toContain('callers of the trust domain partner.example are not compared')
  })
})

/** A waypoint that the Service `db` is led to, or its pods. */
const gateway = (kind: 'service' | 'workload'): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': kind } },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
  status: { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] },
})

const led = (objects: readonly KubernetesObject[], kind: 'Service' | 'StatefulSet', name = 'db') =>
  objects.map((one): KubernetesObject => {
    if (one.kind !== kind || one.metadata.name !== name) return one
    if (kind === 'Service')
      return { ...one, metadata: { ...one.metadata, labels: { ...one.metadata.labels, 'istio.io/use-waypoint': 'w' } } }
    const template = one.spec?.template as { metadata: { labels: Record<string, string> } }
    const labels = { ...template.metadata.labels, 'istio.io/use-waypoint': 'w' }
    return { ...one, spec: { ...one.spec, template: { ...template, metadata: { ...template.metadata, labels } } } }
  })

test('connections without HTTP are lost where a rule names methods from now on, and the port declares no protocol', async () => {
  const allowed = (operation?: object) =>
    custom('allowed', {
      ...service('db'),
      action: 'ALLOW',
      rules: [{ ...OWN, ...(operation && { to: [{ operation }] }) }],
    })
  const objects = [...led(cluster, 'Service'), gateway('service'), allowed()]
  const plan = await planned(objects, { before: [allowed()], after: [allowed({ methods: ['*'] })] })
  expect(lines(plan)).toEqual(['- web → db :9080 (TCP without HTTP)'])
  expect(codeOf(plan)).toBe(2)
})

test('a port that a policy of a waypoint of pods names is compared, though no container does', async () => {
  const deny = custom('deny', {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'w' }],
    action: 'DENY',
    rules: [{ to: [{ operation: { ports: ['9190'] } }] }],
  })
  const objects = [...led(cluster, 'StatefulSet'), gateway('workload')]
  const plan = await planned([...objects, deny], { before: [], after: [deny] })
  expect(lines(plan)).toContain('- web → db (pods) :9190')
  expect(codeOf(plan)).toBe(2)
})

test('a Service that leads to no pods that are known leaves a plan incomplete, where what decides about it changes', async () => {
  const lone: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'old', namespace: 'shop', labels: { 'istio.io/use-waypoint': 'w' } },
    spec: { ports: [{ port: 80 }] },
  }
  const allowed = (...rules: Rule[]) => custom('allowed', { ...service('old'), action: 'ALLOW', rules })
  const objects = [...cluster, gateway('service'), lone]
  const plan = await planned([...objects, allowed(OWN)], { before: [allowed(OWN)], after: [allowed()] })
  expect(codeOf(plan)).not.toBe(0)
})
