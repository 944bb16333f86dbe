import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { effectiveDeployment, PodWorkload, workloadSchema } from '../../../src/core/workload/config.ts'
import { podSpec } from './samples.ts'

const problemsOf = (schema: z.ZodType, value: unknown): string[] => {
  const result = schema.safeParse(value)
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const STORAGE = [{ metadata: { name: 'data' }, spec: { resources: { requests: { storage: '1Gi' } } } }]
const SILENT = { containers: [{ name: 'web', image: 'web:1' }] }

describe('what a deployment may be', () => {
  test.each([
    [
      'storage without a type',
      { volumeClaimTemplates: STORAGE },
      [/^deployment.type: expected stateful: there is storage/],
    ],
    [
      'storage with other parts of a deployment, without a type',
      { volumeClaimTemplates: STORAGE, deployment: { service: 'cluster' } },
      [/^deployment.type: expected stateful: there is storage/],
    ],
    [
      'storage and stateless',
      { volumeClaimTemplates: STORAGE, deployment: { type: 'stateless' } },
      [/^deployment.type: expected stateful: there is storage/],
    ],
    [
      'an unknown type',
      { deployment: { type: 'daemon' } },
      [/^deployment.type: expected a type of deployment, one of stateless stateful$/],
    ],
    [
      'an unknown service',
      { deployment: { service: 'NodePort' } },
      [/^deployment.service: expected a kind of Service, one of cluster loadbalancer external omit$/],
    ],
    [
      'an unknown wish',
      { 'kubernetes-service-type': 'ClusterIP' },
      [/^kubernetes-service-type: expected a kind of Service, one of cluster loadbalancer external omit$/],
    ],
    [
      'external without a name',
      { deployment: { service: 'external' } },
      [/^deployment.externalName: expected the DNS name of a host.*stands for one$/],
    ],
    [
      'external wished for, without a name',
      { 'kubernetes-service-type': 'external' },
      [/^deployment.externalName: expected the DNS name of a host/],
    ],
    [
      'external for an address',
      { deployment: { service: 'external', externalName: '10.1.2.3' } },
      [/^deployment.externalName: expected the DNS name of a host/],
    ],
    [
      'a Service without a port',
      { podSpec: SILENT, deployment: { service: 'cluster' } },
      [/^deployment.service: a Service cluster needs a port/],
    ],
    [
      'a wish for a Service without a port',
      { podSpec: SILENT, 'kubernetes-service-type': 'loadbalancer' },
      [/^kubernetes-service-type: a Service loadbalancer needs a port/],
    ],
    ['a negative number of replicas', { replicas: -1 }, [/^replicas: expected a number of pods/]],
    ['a revision that is a number', { revision: 3 }, [/^revision: expected a string/]],
    ['a key that is not known', { deployments: {} }, [/"deployments"/]],
    ['a key that is not known in the deployment', { deployment: { mode: 'operator' } }, [/"mode"/]],
  ])('a deployment is refused: %s', (_, parts, problems) => {
    expect(problemsOf(PodWorkload, { podSpec: podSpec(), ...parts })).toEqual(
      problems.map((problem) => expect.stringMatching(problem)),
    )
  })

  test.each([
    ['nothing is said', {}, { type: 'stateless', service: 'cluster' }],
    ['nothing is said, and no port', { podSpec: SILENT }, { type: 'stateless', service: 'omit' }],
    [
      'storage, stateful',
      { volumeClaimTemplates: STORAGE, deployment: { type: 'stateful' } },
      { type: 'stateful', service: 'cluster' },
    ],
    ['stateful without storage', { deployment: { type: 'stateful' } }, { type: 'stateful', service: 'cluster' }],
    ['no storage after all', { volumeClaimTemplates: [] }, { type: 'stateless', service: 'cluster' }],
    ['a load balancer', { deployment: { service: 'loadbalancer' } }, { type: 'stateless', service: 'loadbalancer' }],
    [
      'external',
      { deployment: { service: 'external', externalName: 'db.example.com' } },
      { type: 'stateless', service: 'external' },
    ],
    [
      'the user wishes for another Service than the author',
      { deployment: { service: 'cluster' }, 'kubernetes-service-type': 'loadbalancer' },
      { type: 'stateless', service: 'loadbalancer' },
    ],
    [
      'the user wishes for no Service',
      { deployment: { service: 'loadbalancer' }, 'kubernetes-service-type': 'omit' },
      { type: 'stateless', service: 'omit' },
    ],
    [
      'the user wishes for none where the author forgot the name',
      { deployment: { service: 'external' }, 'kubernetes-service-type': 'cluster' },
      { type: 'stateless', service: 'cluster' },
    ],
  ])('a deployment is accepted: %s', (_, parts, deployment) => {
    expect(effectiveDeployment(PodWorkload.parse({ podSpec: podSpec(), ...parts }))).toEqual(deployment)
  })
})

describe('what can be told of a pod spec offline', () => {
  const container = (parts: Record<string, unknown>) => ({ containers: [{ name: 'web', image: 'web:1', ...parts }] })

  test.each([
    ['no containers', {}, /^podSpec.containers: expected containers: a list/],
    ['no container', { containers: [] }, /^podSpec.containers: expected at least one container/],
    ['no name', { containers: [{ image: 'web:1' }] }, /^podSpec.containers.0.name: expected a name/],
    ['a name in capitals', container({ name: 'Web' }), /^podSpec.containers.0.name: expected a name/],
    ['a name that is too long', container({ name: 'w'.repeat(64) }), /^podSpec.containers.0.name: expected a name/],
    ['no image', { containers: [{ name: 'web' }] }, /^podSpec.containers.0.image: expected an image/],
    ['an empty image', container({ image: '' }), /^podSpec.containers.0.image: expected an image/],
    [
      'a container twice',
      { containers: [...container({}).containers, ...container({}).containers] },
      /^podSpec.containers.1: duplicate "web"$/,
    ],
    [
      'a container and an init container of one name',
      { ...container({}), initContainers: container({}).containers },
      /^podSpec.initContainers.0: duplicate "web"$/,
    ],
    ['port 0', container({ ports: [{ containerPort: 0 }] }), /ports.0.containerPort: expected a port/],
    ['port 65536', container({ ports: [{ containerPort: 65536 }] }), /ports.0.containerPort: expected a port/],
    ['a port in quotes', container({ ports: [{ containerPort: '80' }] }), /ports.0.containerPort: expected a port/],
    [
      'another protocol',
      container({ ports: [{ containerPort: 80, protocol: 'tcp' }] }),
      /ports.0.protocol: expected a protocol, one of TCP UDP SCTP$/,
    ],
    [
      'a long name of a port',
      container({ ports: [{ containerPort: 80, name: 'a'.repeat(16) }] }),
      /ports.0.name: expected the name of a port/,
    ],
    [
      'a name of digits',
      container({ ports: [{ containerPort: 80, name: '80' }] }),
      /ports.0.name: expected the name of a port/,
    ],
    [
      'a port twice, once by default',
      container({ ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }] }),
      /ports.1: duplicate "80\/TCP"$/,
    ],
    [
      'a name of two ports, in two containers',
      {
        containers: [
          { name: 'a', image: 'a', ports: [{ containerPort: 80, name: 'http' }] },
          { name: 'b', image: 'b', ports: [{ containerPort: 81, name: 'http' }] },
        ],
      },
      /^podSpec.containers: duplicate "http"$/,
    ],
    ['a variable twice', container({ env: [{ name: 'A' }, { name: 'A' }] }), /env.1: duplicate "A"$/],
    ['a variable without a name', container({ env: [{ value: 'a' }] }), /env.0.name: expected the name of an env/],
    ['a variable with =', container({ env: [{ name: 'A=B' }] }), /env.0.name: expected the name of an env/],
    [
      'a value from two places',
      container({ env: [{ name: 'DB_PASSWORD', value: 'a', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }),
      /^podSpec.containers.0.env.0.valueFrom: expected a value or valueFrom, not both$/,
    ],
    ['a number as a value', container({ env: [{ name: 'A', value: 80 }] }), /env.0.value: expected a value: a string/],
    [
      'a mount of no volume',
      container({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
      /^podSpec.containers.0.volumeMounts.0.name: no volume "data"$/,
    ],
    [
      'two mounts in one place',
      {
        volumes: [{ name: 'data' }],
        ...container({
          volumeMounts: [
            { name: 'data', mountPath: '/data' },
            { name: 'data', mountPath: '/data' },
          ],
        }),
      },
      /volumeMounts.1: duplicate "\/data"$/,
    ],
    ['a volume twice', { ...container({}), volumes: [{ name: 'a' }, { name: 'a' }] }, /volumes.1: duplicate "a"$/],
    ['a pod that runs once', { ...container({}), restartPolicy: 'Never' }, /restartPolicy: expected Always/],
    ['no spec at all', 'nginx', /^podSpec: /],
  ])('a pod spec is refused offline: %s', (_, spec, problem) => {
    expect(problemsOf(PodWorkload, { podSpec: spec })).toEqual([expect.stringMatching(problem)])
  })

  test.each([
    ['a port by TCP and by UDP', container({ ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }] })],
    [
      'a port that two containers share',
      {
        containers: [
          { name: 'a', image: 'a', ports: [{ containerPort: 80, name: 'http' }] },
          { name: 'b', image: 'b', ports: [{ containerPort: 80, name: 'http' }] },
        ],
      },
    ],
    ['a variable with dots', container({ env: [{ name: 'a.b-c', value: '' }] })],
    ['an empty value beside another one', container({ env: [{ name: 'A', value: '', valueFrom: { fieldRef: {} } }] })],
    ['fields that are not known', { ...container({ ports: [], colour: { deep: [1] } }), shape: null }],
  ])('a pod spec is kept as it is: %s', (_, spec) => {
    expect(PodWorkload.parse({ podSpec: spec })).toEqual({ podSpec: spec })
  })

  test('a mount of a claim', () => {
    const spec = container({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })
    const given = { podSpec: spec, volumeClaimTemplates: STORAGE, deployment: { type: 'stateful' } }
    expect(problemsOf(PodWorkload, given)).toEqual([])
  })

  test('keys of every object are no trouble', () => {
    const text = '{"podSpec":{"__proto__":{"a":1},"containers":[{"name":"constructor","image":"a","__proto__":1}]}}'
    expect(PodWorkload.parse(JSON.parse(text)).podSpec.containers[0]?.name).toBe('constructor')
  })
})

describe('a workload of ours, or of somebody else', () => {
  const Workload = z.strictObject({
    workload: workloadSchema(
      z.strictObject({ kind: z.enum(['StatefulSet', 'Deployment']), name: z.string() }),
    ).optional(),
  })

  test('what is wrong is said of the one that was meant', () => {
    expect(problemsOf(Workload, { workload: { podSpec: {} } })).toEqual([
      expect.stringMatching(/^workload.podSpec.containers: expected containers/),
    ])
    expect(problemsOf(Workload, { workload: { kind: 'DaemonSet', name: 'web' } })).toEqual([
      expect.stringMatching(/^workload.kind: /),
    ])
    for (const workload of ['web', null])
      expect(problemsOf(Workload, { workload })).toEqual([expect.stringMatching(/^workload: /)])
  })

  test('with what came', () => {
    const result = Workload.safeParse({ workload: { podSpec: podSpec(), replicas: -1 } }, { reportInput: true })
    expect(result.error?.issues).toEqual([expect.objectContaining({ path: ['workload', 'replicas'], input: -1 })])
  })

  test('fields that are null, as charts render what they do not set, are as absent', () => {
    const [container] = podSpec().containers
    const set = { env: [{ name: 'A' }, { name: 'B', value: 'b' }], ports: [{ containerPort: 80 }] }
    const unset = {
      ...{ command: null, volumeMounts: null, livenessProbe: null, resources: { limits: null } },
      env: [
        { name: 'A', value: null },
        { name: 'B', value: 'b', valueFrom: null },
      ],
      ports: [{ containerPort: 80, protocol: null, name: null }],
    }
    const nulls = { volumes: null, initContainers: null, restartPolicy: null, affinity: null }
    const read = Workload.parse({
      workload: {
        podSpec: { ...nulls, containers: [{ ...container, ...unset }] },
        ...{ strategy: null, updateStrategy: null, volumeClaimTemplates: null, podMetadata: { annotations: null } },
      },
    })
    expect(read).toEqual({
      workload: { podSpec: { containers: [{ ...container, ...set, resources: {} }] }, podMetadata: {} },
    })
  })

  test('an item of a list, and a value by name, that are null are told to the API server, or refused', () => {
    const [container] = podSpec().containers
    const spec = { nodeSelector: { disk: null }, containers: [container] }
    expect(Workload.parse({ workload: { podSpec: spec } })).toEqual({ workload: { podSpec: spec } })
    expect(problemsOf(Workload, { workload: { podSpec: { containers: [null] } } })).toHaveLength(1)
    expect(problemsOf(Workload, { workload: { podSpec: { containers: null } } })).toEqual([
      expect.stringMatching(/^workload.podSpec.containers: expected containers: a list/),
    ])
  })

  test.each([{}, { workload: { podSpec: podSpec() } }, { workload: { kind: 'StatefulSet', name: 'web' } }])(
    'a workload of ours, or of somebody else, is accepted as it is: %j',
    (config) => {
      expect(Workload.parse(config)).toEqual(config)
    },
  )
})
