import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createPreview } from '../../src/ask/preview/preview.ts'
import { features } from '../../src/features.ts'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import { createKubernetes, type Transport } from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { functions } from '../helpers/functions.ts'
import { createWorld, event, meshRelation, NAMESPACE, service, type World, workload } from '../helpers/world.ts'
import { endpoint, meshPolicy } from '../mesh/istio/samples.ts'
import { type Access, accessAskedBy, accessOf, isGranted, linesOf } from './access.ts'
import { builds, cannotBuild, folder } from './builds.ts'
import { all, type KubeObject, Role, RoleBinding, ServiceAccount } from './kinds.ts'

const ACCOUNT = 'meshstep'
const elsewhere = <Kubernetes extends KubernetesObject | Role>(object: Kubernetes): Kubernetes => ({
  ...object,
  metadata: { ...object.metadata, namespace: 'bank' },
})

const objectsOf = (name: string): KubeObject[] => builds.find((build) => build.name === name)?.objects ?? []

/** A world whose API server asks RBAC, as a function of the namespace `shop`. */
const guarded = (manifests: readonly KubeObject[], objects?: readonly KubernetesObject[]) => {
  const granted = accessOf(manifests, NAMESPACE, ACCOUNT)
  const asked: Access[] = []
  const world = createWorld(objects)
  world.intercept = (request) => {
    const accesses = accessAskedBy(request)
    asked.push(...accesses)
    const refused = accesses.find((access) => !isGranted(granted, access))
    if (!refused) return undefined
    const { verb, resource, namespace } = refused
    const message = `${resource} is forbidden: cannot ${verb} resource "${resource}" in namespace "${namespace ?? '*'}"`
    const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', message })
    return { status: 403, headers: {}, body }
  }
  const transport: Transport = async (request) => (await world.intercept?.(request)) ?? world.api.handle(request)
  const preview = createPreview({
    ...{
      features,
      functions,
      transport,
      clock: world.clock,
      environment: { resolver: '10.96.0.10' },
      timeoutMilliseconds: 20_000,
    },
    connect: (deadline) => createKubernetes({ transport, clock: world.clock, deadline }),
  })
  const plan = (...events: Event[]) => preview({ events, objects: [], expectations: [] }, {})
  return { world, asked, plan }
}

const remotePolicies = (...services: string[]) => {
  const policy = meshPolicy({
    source_namespace: NAMESPACE,
    source_app_name: 'web',
    target_namespace: 'bank',
    target_app_name: null,
    endpoints: [endpoint({ ports: [80] })],
  })
  return JSON.stringify(services.map((target_service) => ({ ...policy, target_service })))
}

const consumer = (...services: string[]) => ({
  relation: { id: 9, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
  remote: { application: 'ledger', namespace: 'bank', data: { policies: remotePolicies(...services) } },
})

const beacon = { mesh: { modelOnMesh: true, hardened: true } }

const livesOnTheMesh = async (world: World): Promise<void> => {
  await world.send('config-changed', { config: beacon })
  await world.send('relation-changed', consumer('ledger', 'accounts'))
  await world.send('relation-changed', consumer('ledger'))
  await world.send('resync', { application: undefined })
  const asked = await world.app.request('/explain?from=shop/web&to=bank/ledger&port=80')
  expect(asked.status, await asked.text()).toBe(200)
  await world.send('config-changed', { config: { mesh: { ...beacon.mesh, units: 2 } } })
  await world.send('application-removed', {})
}

/** The RoleBindings that the README's commands make. */
const bindingsInReadme = (): RoleBinding[] => {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8').replaceAll('\\\n', '')
  const commands = readme.matchAll(
    /kubectl create rolebinding (?<name>\S+) --namespace (?<namespace>\S+) --role (?<role>\S+)(?<rest>.*)/g,
  )
  return [...commands].map(({ groups = {} }) =>
    RoleBinding.parse({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: groups.name, namespace: groups.namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: groups.role },
      subjects: [...(groups.rest ?? '').matchAll(/--serviceaccount ([^\s:]+):(\S+)/g)].map(([, namespace, name]) => ({
        kind: 'ServiceAccount',
        name,
        namespace,
      })),
    }),
  )
}

const container = { name: 'web', image: 'web:1', env: [{ name: 'TOKEN', value: 'hush' }] }

const ledger = [workload('StatefulSet', 'ledger'), service('ledger'), service('accounts')].map(elsewhere)

const GATEWAY = {
  ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' },
  spec: { gatewayClassName: 'istio', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
}

describe.skipIf(cannotBuild)('with the permissions of the manifests', () => {
  test('an application that asks for labels alone needs nothing but the Role', async () => {
    const { world, asked } = guarded(objectsOf('base'))
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation())
    await world.send('config-changed', { config: { workload: { kind: 'Deployment', name: 'web' } } })
    await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'uid' } })
    await world.send('leader-elected', { unit: 'web/0' })
    await world.send('resync', {})
    await world.send('relation-broken', { relation: { id: 7 } })
    await world.send('application-removed', {})
    expect(asked.filter(({ namespace }) => namespace !== NAMESPACE)).toEqual([])
  })

  test.each([
    ['policies of its own namespace', 'config-changed', { config: { meshPolicies: [meshPolicy()] } }],
    ['a resync of the namespace', 'resync', { application: undefined }],
  ])('%s can do without the component mesh', async (_, type, data) => {
    await guarded(objectsOf('base')).world.send(type, data)
  })

  test('a beacon that hardens the mesh cannot do without the component mesh', async () => {
    expect(await guarded(objectsOf('base')).world.send('config-changed', { config: beacon })).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([expect.stringContaining('Grant it with a Role')]),
      applicationStatus: { status: 'error' },
    })
    await guarded(objectsOf('base + mesh')).world.send('config-changed', { config: beacon })
  })

  test('with mesh, a beacon, /explain and /plan need just what it grants', async () => {
    const manifests = objectsOf('base + mesh')
    // what it is for is said by its class
    const ingress = { ...GATEWAY, metadata: { name: 'ingress', namespace: 'bank' } }
    const { world, asked, plan } = guarded(manifests, [workload(), service(), ...ledger, ingress])
    expect((await plan(event('config-changed', { config: beacon }))).incomplete).toEqual([])
    await livesOnTheMesh(world)
    const outside = asked.filter(({ namespace }) => namespace !== NAMESPACE)
    const everywhere = accessOf(manifests, NAMESPACE, ACCOUNT).filter(({ namespace }) => namespace === undefined)
    // a memory of another model is read where that model's binding allows it
    const memories = ['get', 'list'].map((verb) => ({ verb, resource: 'configmaps' }))
    expect(linesOf(outside.map(({ verb, resource }) => ({ verb, resource })))).toEqual(
      linesOf([...everywhere, ...memories]),
    )
  })

  test('secret values need just what the Role grants of Secrets', async () => {
    const manifests = objectsOf('base')
    const { world, asked } = guarded(manifests, [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    ])
    const config = (text: string) => ({
      workload: { podSpec: { containers: [container] }, secrets: { 'web-tls': { key: text } } },
    })
    for (const text of ['one', 'two']) await world.send('config-changed', { config: config(text) })
    await world.send('resync', {})
    await world.send('application-removed', {})
    const ofSecrets = ({ resource }: Access) => resource === 'secrets'
    const granted = accessOf(manifests, NAMESPACE, ACCOUNT).filter(ofSecrets)
    expect(linesOf(asked.filter(ofSecrets))).toEqual(linesOf(granted))
  })

  describe('that another model grants', () => {
    const { relation, remote } = meshRelation()
    const told = { relation, remote: { ...remote, application: 'ledger', namespace: 'bank' } }
    const bindings = bindingsInReadme()

    test('what an application of it says is read with the binding, and without it the outcome says so', async () => {
      const theirs = all(objectsOf('base'), Role).map(elsewhere)
      const objects = [workload(), service(), ...ledger]
      const without = guarded([...objectsOf('base'), ...theirs], objects).world
      const refused = await without.send('relation-changed', told)
      expect(refused.messages).toContainEqual(expect.stringContaining('cannot get resource "configmaps"'))
      const { world, asked } = guarded([...objectsOf('base'), ...theirs, ...bindings], objects)
      const read = await world.send('relation-changed', told)
      expect(read.messages.join()).not.toContain('forbidden')
      const outside = asked.filter(({ namespace }) => namespace !== NAMESPACE)
      expect(new Set(outside.map(({ verb, resource }) => `${verb} ${resource}`))).toEqual(new Set(['get configmaps']))
    })

    test('every role and account that the README binds exists', () => {
      const objects = objectsOf('base + authentication')
      const names = [
        ...all(objects, ServiceAccount).map(({ metadata }) => metadata.name),
        ...all(objects, RoleBinding).flatMap(({ subjects }) => subjects.map(({ name }) => name)),
      ]
      expect(bindings.map(({ roleRef }) => roleRef.name)).toEqual(['meshstep-reader'])
      for (const { roleRef, subjects } of bindings) {
        expect(all(objects, Role).map(({ metadata }) => metadata.name)).toContain(roleRef.name)
        expect(names).toEqual(expect.arrayContaining(subjects.map(({ name }) => name)))
      }
    })
  })
})
