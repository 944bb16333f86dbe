import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { render } from '../../tools/release/kustomize.ts'
import { build, builds, cannotBuild, folder } from './builds.ts'
import {
  ApiServerSource,
  all,
  Broker,
  ClusterRole,
  ClusterRoleBinding,
  functionServices,
  KubeObject,
  Trigger,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from './kinds.ts'

/** The names of what is cluster-scoped, each of which is bound by the binding of its name. */
const clusterScoped = (objects: readonly KubeObject[]): string[] => {
  const guards = all(objects, ValidatingAdmissionPolicy).map(({ metadata }) => metadata.name)
  const guardBindings = all(objects, ValidatingAdmissionPolicyBinding)
  expect(guardBindings.map(({ metadata }) => metadata.name)).toEqual(guards)
  expect(guardBindings.map(({ spec }) => spec.policyName)).toEqual(guards)
  const names = all(objects, ClusterRole).map(({ metadata }) => metadata.name)
  const bindings = all(objects, ClusterRoleBinding)
  expect(bindings.map(({ metadata }) => metadata.name)).toEqual(names)
  expect(bindings.map(({ roleRef }) => roleRef.name)).toEqual(names)
  return [...names, ...guards].toSorted()
}

const broker = (name: string) => {
  const objects = builds.find((candidate) => candidate.name === name)?.objects ?? []
  return {
    annotations: all(objects, Broker).map(({ metadata }) => metadata.annotations),
    order: all(objects, Trigger).map(
      ({ metadata }) => metadata.annotations['kafka.eventing.knative.dev/delivery.order'],
    ),
  }
}

describe.skipIf(cannotBuild)(`overlays ${cannotBuild ?? ''}`, () => {
  test('overlays/dev-without-authentication has an in-memory broker that answers at once', () => {
    const { annotations, order } = broker('overlays/dev-without-authentication')
    expect(annotations).toEqual([
      {
        'eventing.knative.dev/broker.class': 'MTChannelBasedBroker',
        'messaging.knative.dev/async-handler': 'true',
      },
    ])
    expect(new Set(order)).toEqual(new Set([undefined]))
  })

  test.each(['overlays/kafka', 'overlays/kafka-mesh'])('%s delivers in order', (name) => {
    const { annotations, order } = broker(name)
    expect(annotations).toEqual([{ 'eventing.knative.dev/broker.class': 'Kafka' }])
    expect(new Set(order)).toEqual(new Set(['ordered']))
  })

  test.each([
    ['dev-without-authentication', ['broker-in-memory', 'mesh'], 'dev.local/meshstep:dev'],
    ['kafka', ['broker-kafka', 'authentication'], 'registry.example.com/meshstep:0.1.0'],
    ['kafka-mesh', ['broker-kafka', 'authentication', 'mesh'], 'registry.example.com/meshstep:0.1.0'],
  ])('overlays/%s is what a release renders of %j', async (name, components, image) => {
    const rendered = await render({ namespace: 'meshstep', image, components })
    const objects = rendered.map(({ text }) => KubeObject.parse(parse(text)))
    const inOrder = (list: readonly KubeObject[]) =>
      list.toSorted((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1))
    expect(inOrder(objects)).toEqual(inOrder(build(join(folder, 'overlays', name))))
  })

  test.each([
    ['overlays/dev-without-authentication', ['meshstep-mesh-meshstep']],
    ['overlays/kafka', ['meshstep-documents-meshstep', 'meshstep-reviews-meshstep']],
    ['overlays/kafka-mesh', ['meshstep-documents-meshstep', 'meshstep-mesh-meshstep', 'meshstep-reviews-meshstep']],
  ])('%s names what is cluster-scoped after its namespace', (name, names) => {
    expect(clusterScoped(builds.find((candidate) => candidate.name === name)?.objects ?? [])).toEqual(names)
  })

  const buildOverlay = (kustomization: string): KubeObject[] => {
    const copy = mkdtempSync(join(tmpdir(), 'meshstep-knative-'))
    try {
      cpSync(folder, copy, { recursive: true })
      mkdirSync(join(copy, 'overlays/shop'))
      writeFileSync(join(copy, 'overlays/shop/kustomization.yaml'), kustomization)
      return build(join(copy, 'overlays/shop'))
    } finally {
      rmSync(copy, { recursive: true })
    }
  }
  const yamlIn = (page: string): string => /```yaml\n(.*?)```/s.exec(readFileSync(page, 'utf8'))?.[1] ?? ''

  test('the example in the README builds, in a namespace of more than one word', () => {
    const objects = buildOverlay(yamlIn(join(folder, 'README.md')).replace('shop', 'shop-2'))
    expect(functionServices(objects)).toHaveLength(1)
    expect(all(objects, ApiServerSource)).toHaveLength(5)
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['shop-2', undefined]))
    expect(clusterScoped(objects)).toEqual([
      'meshstep-documents-shop-2',
      'meshstep-mesh-shop-2',
      'meshstep-reviews-shop-2',
    ])
  })

  test('the patches in docs/operations.md lead the functions to a Prometheus, and let them reach it', () => {
    const parts = 'resources: [../../base]\ncomponents: [../../components/authentication, ../../components/network]\n'
    const objects = buildOverlay(`${parts}${yamlIn(join(folder, '../docs/operations.md'))}`)
    const [service] = functionServices(objects)
    const url = expect.objectContaining({ name: 'PROMETHEUS_URL', value: 'http://prometheus.istio-system:9090' })
    expect(service?.spec.template.spec.containers[0]?.env).toContainEqual(url)
    const network = objects.find(({ kind }) => kind === 'NetworkPolicy') as { spec?: { egress: unknown[] } } | undefined
    expect(JSON.stringify(network?.spec?.egress.at(-1))).toContain('"istio-system"')
  })

  test.each(
    ['overlays', 'components'].flatMap((parent) =>
      readdirSync(join(folder, parent)).map((name) => `${parent}/${name}`),
    ),
  )('the README has a row for %s', (name) => {
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`\n| \`${name}\``)
  })
})
