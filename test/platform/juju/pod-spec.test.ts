import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { workloadSchema } from '../../../src/core/workload/config.ts'

const schema = workloadSchema(z.strictObject({ name: z.string() }))

/** Juju's form of a pod spec with one container. */
const juju = (container: Record<string, unknown> = {}, more: Record<string, unknown> = {}) => ({
  podSpec: { version: 3, containers: [{ name: 'web', image: 'web:1', ...container }], ...more },
})

/** A container with one volume of one file. */
const filed = (name: string, volume: string, content: string) => ({
  name,
  image: 'web:1',
  volumeConfig: [{ name: volume, mountPath: `/etc/${volume}`, files: [{ path: 'file', content }] }],
})

const read = (workload: unknown) => schema.parse(workload) as Record<string, unknown>

const problemsOf = (workload: unknown): string[] => {
  const result = schema.safeParse(workload)
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const KUBERNETES = { podSpec: { containers: [{ name: 'web', image: 'web:1' }] } }

describe('what Juju’s form has an equal for', () => {
  test('secrets of texts are those of the workload', () => {
    const secrets = [
      { name: 'a', type: 'Opaque', data: { key: 'aHVzaA==' } },
      { name: 'b', stringData: { key: 'hush' } },
    ]
    expect(read(juju({}, { kubernetesResources: { secrets } })).secrets).toEqual({
      a: { key: 'hush' },
      b: { key: 'hush' },
    })
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['the image', { image: undefined, imageDetails: { imagePath: 'web:2' } }, { image: 'web:2' }],
    ['ports', { ports: [{ containerPort: 80, name: 'http' }] }, { ports: [{ containerPort: 80, name: 'http' }] }],
    [
      'variables',
      {
        envConfig: {
          A: 'text',
          B: 2,
          C: { secret: { name: 's', key: 'k' } },
          D: { 'config-map': { name: 'c', key: 'k' } },
          E: { field: { path: 'metadata.name', 'api-version': 'v1' } },
        },
      },
      {
        env: [
          { name: 'A', value: 'text' },
          { name: 'B', value: '2' },
          { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
          { name: 'D', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
          { name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
      },
    ],
    ['variables as version 2 has them', { config: { A: 'text' } }, { env: [{ name: 'A', value: 'text' }] }],
    [
      'probes and security',
      { kubernetes: { livenessProbe: { tcpSocket: { port: 80 } }, securityContext: { privileged: false } } },
      { livenessProbe: { tcpSocket: { port: 80 } }, securityContext: { privileged: false } },
    ],
  ])('%s', (_, container, converted) => {
    const [image] = [converted.image ?? 'web:1']
    expect(read(juju(container))).toEqual({ podSpec: { containers: [{ name: 'web', ...converted, image }] } })
  })

  test('files, which become a ConfigMap, and volumes of other kinds', () => {
    const volumeConfig = [
      { name: 'config', mountPath: '/etc/web', files: [{ path: 'sub/a.conf', content: 'a', mode: 256 }] },
      { name: 'keys', mountPath: '/keys', secret: { name: 'web-keys', files: [{ key: 'k', path: 'p' }] } },
      { name: 'tmp', mountPath: '/tmp', emptyDir: { medium: 'Memory' } },
      { name: 'host', mountPath: '/host', hostPath: { path: '/var' } },
      { name: 'given', mountPath: '/given', configMap: { name: 'given', files: [{ key: 'k', path: 'p' }] } },
    ]
    expect(read(juju({ volumeConfig }))).toMatchObject({
      podSpec: {
        containers: [{ volumeMounts: volumeConfig.map(({ name, mountPath }) => ({ name, mountPath })) }],
        volumes: [
          {
            name: 'config',
            configMap: { name: 'web-config', items: [{ key: 'sub_a.conf', path: 'sub/a.conf', mode: 256 }] },
          },
          { name: 'keys', secret: { secretName: 'web-keys', items: [{ key: 'k', path: 'p' }] } },
          { name: 'tmp', emptyDir: { medium: 'Memory' } },
          { name: 'host', hostPath: { path: '/var' } },
          { name: 'given', configMap: { name: 'given', items: [{ key: 'k', path: 'p' }] } },
        ],
      },
      configMaps: { 'web-config': { 'sub_a.conf': 'a' } },
    })
  })

  test('containers to begin with, settings of the pod, and what belongs to the Service', () => {
    const workload = read({
      podSpec: {
        version: 3,
        containers: [
          { name: 'first', image: 'first:1', init: true },
          { name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] },
        ],
        kubernetesResources: { pod: { hostNetwork: true, annotations: { a: 'b' } } },
        service: { annotations: { c: 'd' } },
      },
    })
    expect(workload).toMatchObject({
      podSpec: {
        containers: [{ name: 'web' }],
        initContainers: [{ name: 'first', image: 'first:1' }],
        hostNetwork: true,
      },
      podMetadata: { annotations: { a: 'b' } },
      service: { annotations: { c: 'd' } },
    })
  })
})

test('how pods are replaced goes to the type of deployment that it is for', () => {
  const updateStrategy = { type: 'RollingUpdate' }
  const workload = juju({}, { service: { updateStrategy } })
  expect(read(workload)).toHaveProperty('strategy', updateStrategy)
  expect(read({ ...workload, deployment: { type: 'stateful' } })).toHaveProperty('updateStrategy', updateStrategy)
})

test('containers may mount one volume of equal files', () => {
  const containers = [filed('web', 'conf', 'a'), filed('log', 'conf', 'a')]
  expect(read(juju({}, { containers }))).toMatchObject({ podSpec: { volumes: [{ name: 'conf' }] } })
})

test('a variable that names no key stands for all of them', () => {
  const envConfig = { A: 'a', s: { secret: { name: 'keys' } }, c: { 'config-map': { name: 'settings' } } }
  expect(read(juju({ envConfig }))).toMatchObject({
    podSpec: {
      containers: [
        {
          env: [{ name: 'A', value: 'a' }],
          envFrom: [{ secretRef: { name: 'keys' } }, { configMapRef: { name: 'settings' } }],
        },
      ],
    },
  })
})

describe('what has no equal is named, with what to do instead', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'rules of an account',
      juju({}, { serviceAccount: { roles: [] } }),
      /^podSpec\.serviceAccount: .*write a Role, and a RoleBinding/,
    ],
    [
      'definitions of custom resources',
      juju({}, { kubernetesResources: { customResourceDefinitions: [] } }),
      /^podSpec\.kubernetesResources\.customResourceDefinitions: .*apply it with kubectl/,
    ],
    [
      'secrets of another type',
      juju({}, { kubernetesResources: { secrets: [{ name: 'a', type: 'kubernetes.io/tls', data: {} }] } }),
      /^podSpec\.kubernetesResources\.secrets\.0\.type: .*make the Secret/,
    ],
    [
      'a password to pull by',
      juju({ imageDetails: { imagePath: 'web:1', username: 'u', password: 'p' } }),
      /^podSpec\.containers\.0\.imageDetails: .*kubernetes\.io\/dockerconfigjson/,
    ],
    ['a version that is not known', juju({}, { version: 4 }), /^podSpec\.version: .*2 or 3/],
    [
      'volumes of one name with different content',
      juju({}, { containers: [filed('web', 'conf', 'a'), filed('log', 'conf', 'b')] }),
      /^podSpec\.containers\.1\.volumeConfig: .*conf.*another name/,
    ],
    [
      'files whose ConfigMaps have one name',
      juju({}, { containers: [filed('web', 'a-b', 'a'), filed('web-a', 'b', 'b')] }),
      /^podSpec\.containers\.1\.volumeConfig: .*web-a-b.*another name/,
    ],
    [
      'files whose ConfigMap has the name of another one',
      juju({}, { containers: [filed('web', 'conf', 'a')], configMaps: { 'web-conf': { b: 'c' } } }),
      /^podSpec\.containers\.0\.volumeConfig: .*web-conf.*another name/,
    ],
  ])('%s', (_, workload, message) => {
    expect(problemsOf(workload)).toEqual([expect.stringMatching(message)])
  })
})

test('what is null, as charts render what they do not set, is as absent', () => {
  const nulls = {
    ...{ imageDetails: { imagePath: 'web:1', username: null, password: null }, volumeConfig: null, kubernetes: null },
    envConfig: { A: '1', B: null, C: { field: { path: 'metadata.name' }, secret: null } },
  }
  const secrets = [{ name: 'a', type: null, stringData: { key: 'hush' } }]
  const more = {
    serviceAccount: null,
    service: { annotations: null },
    kubernetesResources: { pod: null, secrets, services: null },
  }
  expect(read(juju(nulls, { ...more, configMaps: null }))).toEqual(
    read(
      juju(
        { envConfig: { A: '1', C: { field: { path: 'metadata.name' } } } },
        { kubernetesResources: { secrets: [{ name: 'a', stringData: { key: 'hush' } }] } },
      ),
    ),
  )
})

test('a spec in Kubernetes’ own form is left as it is, and so is one that was converted', () => {
  expect(read(KUBERNETES)).toEqual(KUBERNETES)
  const converted = read(juju({ envConfig: { A: '1' } }))
  expect(read(converted)).toEqual(converted)
})
