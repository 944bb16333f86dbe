import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { meshRelation } from '../helpers/world.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, noCluster, openCluster, pod, service, workload } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

const SLOW = 30_000

const newName = () => `web-${crypto.randomUUID().slice(0, 8)}`

const spec = (image: string, env: Record<string, string> = {}) => ({
  podSpec: {
    containers: [
      {
        name: 'web',
        image: `example.invalid/${image}`,
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      },
    ],
  },
})

const tell = (application: string, given: object, more: Record<string, unknown> = {}) =>
  cluster.send('config-changed', { application, config: { workload: given }, ...more })

const podsOf = async (application: string): Promise<KubernetesObject[]> => {
  const pods = await cluster.kubernetes.list('Pod', cluster.namespace, `app.kubernetes.io/name=${application}`)
  return pods.filter(({ metadata, status }) => {
    const { phase } = (status ?? {}) as { phase?: string }
    return metadata.deletionTimestamp === undefined && phase !== 'Failed'
  })
}

const running = (application: string, count: number) =>
  until(
    `${count} pods of ${application} are there`,
    async () => {
      const pods = await podsOf(application)
      return pods.length === count && pods
    },
    SLOW,
  )

const containerOf = async (kind: 'Deployment' | 'StatefulSet', name: string) => {
  const found = await cluster.kubernetes.find({ kind, namespace: cluster.namespace, name })
  const template = found?.spec?.template as { spec: { containers: Record<string, unknown>[] } } | undefined
  return template?.spec.containers[0]
}

/** An application of two pods, which are told. */
const createPair = async () => {
  const application = newName()
  await tell(application, { ...spec('web:1'), replicas: 2 })
  const [first, second] = await running(application, 2)
  await cluster.send('resync', { application })
  if (first === undefined || second === undefined) throw new Error('no pods')
  return { application, first, second }
}

const lease = (application: string, holder: string, leaseTransitions: number): KubernetesObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: application,
    namespace: cluster.namespace,
    labels: { 'app.kubernetes.io/name': application },
  },
  spec: { holderIdentity: holder, leaseTransitions },
})

describe('a leader', () => {
  test('whose pod was evicted leads no more, and what another unit asks for is done by the next one', {
    timeout: SLOW,
  }, async () => {
    const { application, first, second } = await createPair()
    await cluster.send('leader-elected', { application, unit: first.metadata.name, epoch: 1 })
    await cluster.report(first, { phase: 'Failed', reason: 'Evicted' })
    await cluster.send('config-changed', { application, settings: { a: '1' }, unit: second.metadata.name })
    const waiting = await cluster.view(application)
    expect([waiting.leader, waiting.settings]).toEqual([undefined, {}])
    await cluster.send('leader-elected', { application, unit: second.metadata.name, epoch: 2 })
    expect((await cluster.view(application)).settings).toEqual({ a: '1' })
  })

  test('of a Lease that was made anew counts, and the former one’s epoch locks nobody out', {
    timeout: SLOW,
  }, async () => {
    const { application, first, second } = await createPair()
    const before = await cluster.make(lease(application, first.metadata.name, 7))
    await cluster.hear('add', before)
    await cluster.drop(before)
    // creation is told in seconds
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const after = await cluster.make(lease(application, second.metadata.name, 0))
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    await cluster.hear('add', after)
    await cluster.hear('update', { ...before, spec: { ...before.spec, leaseTransitions: 8 } })
    await cluster.send('config-changed', { application, settings: { a: '1' }, unit: second.metadata.name })
    expect((await cluster.view(application)).settings).toEqual({ a: '1' })
  })

  test('whose pod has a suffix of digits is not taken for a unit of that number', { timeout: SLOW }, async () => {
    const { application } = await createPair()
    const made = pod(cluster.namespace, { 'app.kubernetes.io/name': 'other' })
    const name = `${application}-5d87596669-24567`
    await cluster.create({ ...made, metadata: { ...made.metadata, name } })
    await cluster.hear('add', await cluster.make(lease(application, name, 1)))
    const memory = {
      kind: 'ConfigMap',
      namespace: cluster.namespace,
      name: `juju-service-mesh-${application}-labels`,
    } as const
    const state = JSON.parse((await cluster.kubernetes.find(memory))?.data?.state ?? '{}')
    expect(state.leader).toMatchObject({ unit: name })
  })
})

test('an application whose pod is not ready waits', { timeout: SLOW }, async () => {
  const application = newName()
  const annotations = { 'embedded.meshstep.dev/pod': 'not-ready' }
  const { podSpec } = spec('web:1')
  const readinessProbe = { exec: { command: ['false'] } }
  const containers = podSpec.containers.map((container) => ({ ...container, readinessProbe }))
  await tell(application, { podSpec: { containers }, podMetadata: { annotations } })
  await running(application, 1)
  await cluster.send('resync', { application })
  expect((await cluster.view(application)).status).toMatchObject({
    status: 'waiting',
    message: expect.stringContaining('0 of 1 pods are available'),
  })
})

describe('specs that change', () => {
  const STATEFUL = { deployment: { type: 'stateful' }, updateStrategy: { type: 'OnDelete' } }

  test('all count where a person tells them, a month of image updates and a rollback', { timeout: SLOW }, async () => {
    const application = newName()
    for (const version of [1, 2, 3, 4, 5, 6, 7, 8, 1]) {
      await tell(application, { ...spec(`web:${version}`), replicas: 0 })
      expect(await containerOf('Deployment', application)).toMatchObject({ image: `example.invalid/web:${version}` })
    }
  })

  test.each<[string, string, (run: number, application: string) => Record<string, string>]>([
    ['the unit’s name', 'UNIT', (run, application) => ({ UNIT: `${application}/${run}` })],
    ['a new key', 'SIGNING_KEY', () => ({ SIGNING_KEY: crypto.randomUUID() })],
    ['a number of the run, and more that changes', 'RUN', (run) => ({ RUN: `${run}`, COLOUR: run % 2 ? 'a' : 'b' })],
  ])('specs that change wait where a unit tells %s at each run', { timeout: SLOW }, async (_, variable, env) => {
    const application = newName()
    const told = (run: number) => ({
      application,
      config: {
        workload: { ...spec('web:1', env(run, application)), ...STATEFUL },
      },
    })
    await cluster.send('config-changed', told(0))
    await running(application, 1)
    await cluster.send('resync', { application })
    await cluster.send('config-changed', { ...told(1), unit: `${application}/0` })
    const before = await containerOf('StatefulSet', application)
    await cluster.send('config-changed', { ...told(2), unit: `${application}/0` })
    expect(await containerOf('StatefulSet', application)).toEqual(before)
    expect((await cluster.view(application)).status).toMatchObject({
      status: 'waiting',
      message: expect.stringContaining(`env[${variable}]`),
    })
  })

  const juju = (container: object, parts: object = {}) => ({
    podSpec: {
      version: 3,
      containers: [{ name: 'web', imageDetails: { imagePath: 'example.invalid/web:1' }, ...container }],
      ...parts,
    },
  })

  test.each<[string, (run: number, application: string) => object]>([
    ['annotations of its pods', (run) => ({ ...spec('web:1'), podMetadata: { annotations: { run: `${run}` } } })],
    [
      'a text in a ConfigMap',
      (run, application) => ({ ...spec('web:1'), configMaps: { [`${application}-files`]: { file: `${run}` } } }),
    ],
    [
      'a text in a Secret',
      (run, application) => ({ ...spec('web:1'), secrets: { [`${application}-keys`]: { key: `${run}` } } }),
    ],
    ['an account', (run, application) => ({ ...spec('web:1'), serviceAccount: { name: `${application}-${run}` } })],
    [
      'a file in Juju’s form',
      (run) =>
        juju({
          volumeConfig: [{ name: 'conf', mountPath: '/conf', files: [{ path: 'app.conf', content: `${run}` }] }],
        }),
    ],
    [
      'a Secret in Juju’s form',
      (run, application) =>
        juju(
          {},
          { kubernetesResources: { secrets: [{ name: `${application}-keys`, stringData: { key: `${run}` } }] } },
        ),
    ],
  ])('specs that change are slowed where a unit tells %s at each run', { timeout: SLOW }, async (_, given) => {
    const application = newName()
    const told = (run: number) => ({
      application,
      config: { workload: { ...given(run, application), ...STATEFUL } },
    })
    const generation = async () =>
      (await cluster.kubernetes.find({ kind: 'StatefulSet', namespace: cluster.namespace, name: application }))
        ?.metadata.generation
    await cluster.send('config-changed', told(0))
    await running(application, 1)
    await cluster.send('resync', { application })
    const generations = []
    for (const run of [1, 2, 3, 4]) {
      await cluster.send('config-changed', { ...told(run), unit: `${application}/0` })
      generations.push(await generation())
    }
    expect(new Set(generations).size).toBe(1)
    expect((await cluster.view(application)).status).toMatchObject({
      status: 'waiting',
      message: expect.stringMatching(/^config\.workload: units keep changing it/),
    })
  })
})

test('a spec that the API server stores in another form leaves nothing due, until somebody changes it', async () => {
  const application = newName()
  const container = {
    ...{ name: 'web', image: 'example.invalid/web:1', command: [], tty: false },
    env: [
      { name: 'EMPTY', value: '' },
      { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    resources: { limits: { cpu: '1000m', memory: '1024Mi' } },
  }
  const podSpec = { containers: [container], hostNetwork: false, nodeSelector: {} }
  await tell(application, { podSpec, replicas: 0 })
  const due = async () => (await cluster.view(application)).conditions.filter(({ reason }) => reason === 'Due')
  expect(await due()).toEqual([])
  const found = await cluster.kubernetes.find({ kind: 'Deployment', namespace: cluster.namespace, name: application })
  const containers = [{ ...container, image: 'example.invalid/web:2' }]
  await cluster.merge(found as KubernetesObject, { spec: { template: { spec: { containers } } } }, 'kubectl-edit')
  expect(await due()).toMatchObject([{ object: `Deployment ${cluster.namespace}/${application}` }])
  await cluster.send('resync', { application })
  expect(await due()).toEqual([])
})

describe('secret values', () => {
  const secretive = (value: string) => ({
    ...spec('web:1', { TOKEN: value }),
    replicas: 0,
  })

  const secrets = async (application: string, name = `meshstep-${application}-secrets`) => {
    const found = await cluster.kubernetes.find({ kind: 'Secret', namespace: cluster.namespace, name })
    return found && Object.values(found.data ?? {}).map((text) => Buffer.from(text, 'base64').toString())
  }

  test('secret values are kept in Secrets alone, follow the config, and go with the application', {
    timeout: SLOW,
  }, async () => {
    const application = newName()
    const name = `${application}-tls`
    const given = (value: string) => ({ ...secretive(value), secrets: { [name]: { key: value } } })
    await tell(application, given('hush-1'))
    expect([await secrets(application), await secrets(application, name)]).toEqual([['hush-1', 'hush-1'], ['hush-1']])
    expect(JSON.stringify(await containerOf('Deployment', application))).not.toContain('hush')
    const again = await tell(application, given('hush-1'))
    expect(again.written.filter((object) => !object.startsWith('ConfigMap'))).toEqual([])
    const before = await containerOf('Deployment', application)
    await tell(application, given('hush-2'))
    expect(await containerOf('Deployment', application)).not.toEqual(before)
    await until('what nothing refers to has gone', async () => {
      await cluster.send('resync', { application })
      return (await secrets(application))?.length === 2
    })
    expect([await secrets(application), await secrets(application, name)]).toEqual([['hush-2', 'hush-2'], ['hush-2']])
    await cluster.send('application-removed', { application })
    expect([await secrets(application), await secrets(application, name)]).toEqual([undefined, undefined])
  })

  test('of two that tell others at the same time are kept, whichever counts', { timeout: SLOW }, async () => {
    const application = newName()
    await Promise.all([tell(application, secretive('one')), tell(application, secretive('two'))])
    const { env } = (await containerOf('Deployment', application)) as {
      env: { valueFrom: { secretKeyRef: { name: string; key: string } } }[]
    }
    const { name = '', key = '' } = env[0]?.valueFrom.secretKeyRef ?? {}
    const kept = await cluster.kubernetes.find({ kind: 'Secret', namespace: cluster.namespace, name })
    expect(['one', 'two']).toContain(Buffer.from(kept?.data?.[key] ?? '', 'base64').toString())
  })
})

describe.skipIf(noCluster)(`what an administrator sets ${noCluster ?? ''}`, () => {
  test('a policy that refuses one label keeps that back, and the rest is done', { timeout: SLOW }, async () => {
    const name = `no-mesh-${cluster.namespace}`
    const label = 'istio.io/dataplane-mode'
    await cluster.install([
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name, labels: {}, annotations: {} },
        spec: {
          matchConstraints: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': cluster.namespace } },
            resourceRules: [
              {
                apiGroups: ['apps'],
                apiVersions: ['v1'],
                operations: ['CREATE', 'UPDATE'],
                resources: ['statefulsets'],
              },
            ],
          },
          validations: [
            { expression: `!('${label}' in object.spec.template.metadata.labels)`, message: 'not on Fridays' },
          ],
        },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name, labels: {}, annotations: {} },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
    ])
    const refused = workload('StatefulSet', cluster.namespace, { [label]: 'x' })
    await until('the policy is in force', () =>
      cluster.kubernetes
        .create({ ...refused, metadata: { ...refused.metadata, name: newName() } })
        .then(() => false)
        .catch(() => true),
    )
    const object = workload('StatefulSet', cluster.namespace)
    const application = object.metadata.name
    await cluster.create(object)
    await cluster.create(service(cluster.namespace, {}, application))
    const outcome = await cluster.send('relation-changed', { application, ...meshRelation({ [label]: 'ambient' }) })
    expect(outcome).toMatchObject({
      messages: expect.arrayContaining([expect.stringMatching(/StatefulSet .*not on Fridays/)]),
      applicationStatus: { status: 'error' },
    })
    const labelled = await cluster.kubernetes.find({ kind: 'Service', namespace: cluster.namespace, name: application })
    expect(labelled?.metadata.labels).toMatchObject({ [label]: 'ambient' })
  })

  test('a quota that is met is no fault of a spec, which is made once there is room', { timeout: SLOW }, async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none', namespace: cluster.namespace },
      spec: { hard: { 'count/deployments.apps': '0' } },
    }
    await cluster.make(quota)
    const application = newName()
    const outcome = await until('the quota is in force', async () => {
      const told = await tell(application, { ...spec('web:1'), replicas: 0 })
      return told.applicationStatus?.status === 'error' && told
    })
    expect(outcome.messages.join()).toMatch(/exceeded quota.*Raise the quota/)
    await cluster.drop(quota)
    await until('there is room', async () => {
      await cluster.send('resync', { application })
      return (await containerOf('Deployment', application)) !== undefined
    })
  })
})
