import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../process/helpers.ts'
import { BAD_SPECS, goodSpec, UNRULY_SPECS } from './bad-specs.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

const newName = () => `web-${crypto.randomUUID().slice(0, 8)}`

const tell = (application: string, workload: unknown) =>
  cluster.send('config-changed', { application, config: { workload } })

type Template = { spec: { containers: { image: string }[] } }

const imageOf = async (application: string) => {
  const reference = { kind: 'Deployment', namespace: cluster.namespace, name: application } as const
  const template = (await cluster.kubernetes.find(reference))?.spec?.template as Template | undefined
  return template?.spec.containers[0]?.image
}

/** Tells of a workload after a good one, and expects what runs to stay, and to be correctable. */
const expectRefusal = async (workload: unknown, told: RegExp) => {
  const application = newName()
  await tell(application, goodSpec())
  const refused = await tell(application, workload).catch((error: unknown) => error)
  expect(refused).toMatchObject({ name: 'Refused', status: 400, message: expect.stringMatching(told) })
  expect(await imageOf(application)).toBe('example.invalid/web:1')
  expect(await tell(application, goodSpec('example.invalid/web:2'))).toMatchObject({ status: 'changed' })
  expect(await imageOf(application)).toBe('example.invalid/web:2')
}

describe.skipIf(noCluster)(`a pod spec that breaks a rule of a real API server ${noCluster ?? ''}`, () => {
  test.each(UNRULY_SPECS)('%s: is refused, and what runs stays and can be corrected', async (_, workload, told) => {
    await expectRefusal(workload, told)
  })
})

describe('a bad pod spec', () => {
  test.each(BAD_SPECS)('%s: is refused, and what runs stays and can be corrected', async (_, workload, told) => {
    await expectRefusal(workload, told)
  })

  test('of a new application leaves nothing', async () => {
    const application = newName()
    const [[, workload] = []] = BAD_SPECS
    await expect(tell(application, workload)).rejects.toMatchObject({ status: 400 })
    const memory = `juju-service-mesh-${application}-labels`
    const reference = { kind: 'ConfigMap', namespace: cluster.namespace, name: memory } as const
    expect(await cluster.kubernetes.find(reference)).toBeUndefined()
  })
})

test('pods that OnDelete leaves without a label of their template are told until they are deleted', async () => {
  const application = newName()
  const workload = {
    ...{ ...goodSpec(), replicas: 1 },
    ...{ deployment: { type: 'stateful' }, updateStrategy: { type: 'OnDelete' } },
  }
  await tell(application, workload)
  const pod = { kind: 'Pod', namespace: cluster.namespace, name: `${application}-0` } as const
  await until('a pod', () => cluster.kubernetes.find(pod))
  const message = `pods of StatefulSet ${cluster.namespace}/${application} lack labels of its template, tier=a, as its updateStrategy is OnDelete (${application}-0): delete them`
  const labelled = await cluster.send('config-changed', { application, config: { workload, labels: { tier: 'a' } } })
  expect(labelled.conditions).toMatchObject([{ message }])
  expect(await cluster.send('resync', { application })).toMatchObject({ status: 'waiting', conditions: [{ message }] })
  const { uid } = (await cluster.kubernetes.find(pod))?.metadata ?? {}
  await cluster.kubernetes.remove({ apiVersion: 'v1', ...pod, metadata: { ...pod, uid } })
  await until('another pod', async () => (await cluster.kubernetes.find(pod))?.metadata.labels?.tier === 'a', 60_000)
  const { conditions = [] } = await cluster.send('resync', { application })
  expect(conditions.filter(({ object }) => object.includes('pods'))).toEqual([])
})

test('claims that are to have another size are refused with the way to it', async () => {
  const application = newName()
  await tell(application, goodSpec(undefined, '1Gi'))
  const refused = await tell(application, goodSpec(undefined, '2Gi')).catch((error: unknown) => error)
  expect(refused).toMatchObject({
    status: 400,
    message: expect.stringMatching(
      /updates to statefulset spec .*resize the PersistentVolumeClaims, .*--cascade=orphan/,
    ),
  })
})

describe('a workload with all it may have', () => {
  const common = {
    podMetadata: { labels: { team: 'blue' }, annotations: { a: 'b' } },
    service: { annotations: { a: 'b' }, ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }] },
    serviceAccount: { annotations: { a: 'b' } },
    podDisruptionBudget: { maxUnavailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  }
  const all = {
    stateless: { ...goodSpec(), ...common, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } } },
    stateful: {
      ...goodSpec(undefined, '1Gi'),
      ...common,
      updateStrategy: { type: 'OnDelete' },
      podManagementPolicy: 'OrderedReady',
    },
    'with fields that are null': {
      strategy: null,
      podSpec: {
        ...{ volumes: null, initContainers: null, affinity: null, restartPolicy: null, securityContext: null },
        containers: [
          {
            ...{ name: 'web', image: 'example.invalid/web:1', command: null, resources: null, volumeMounts: null },
            env: [
              { name: 'A', value: null },
              { name: 'B', value: 'b', valueFrom: null },
            ],
            ports: [{ containerPort: 80, protocol: null, name: null }],
          },
        ],
      },
    },
    'in Juju’s form': {
      replicas: 0,
      podSpec: {
        version: 3,
        containers: [
          {
            name: 'web',
            imageDetails: { imagePath: 'example.invalid/web:1' },
            ports: [{ containerPort: 80 }],
            envConfig: { A: 1, B: { field: { path: 'metadata.name' } } },
            volumeConfig: [{ name: 'config', mountPath: '/etc/web', files: [{ path: 'a/b.conf', content: 'c' }] }],
            kubernetes: { readinessProbe: { tcpSocket: { port: 80 } } },
          },
        ],
      },
    },
  }

  test.each(Object.entries(all))(
    '%s: is made, and is as it is desired when it is looked at again',
    async (_, given) => {
      const application = newName()
      const workload = { ...given, ...('podMetadata' in given && { configMaps: { [`${application}-a`]: { b: 'c' } } }) }
      const first = await tell(application, workload)
      expect(first).toMatchObject({ status: 'changed', conflicts: [], messages: [] })
      expect(await cluster.send('resync', { application })).toMatchObject({ status: 'unchanged', conflicts: [] })
    },
  )

  test('a workload with all it may have keeps its replicas when their number is told no more', async () => {
    const application = newName()
    const { replicas: _, ...unscaled } = goodSpec('example.invalid/web:2')
    await tell(application, { ...goodSpec(), replicas: 3 })
    await tell(application, unscaled)
    const reference = { kind: 'Deployment', namespace: cluster.namespace, name: application } as const
    expect((await cluster.kubernetes.find(reference))?.spec?.replicas).toBe(3)
    expect(await imageOf(application)).toBe('example.invalid/web:2')
  })
})
