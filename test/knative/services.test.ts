import { describe, expect, test } from 'vitest'
import { functions } from '../helpers/functions.ts'
import { builds, cannotBuild } from './builds.ts'
import { all, functionServices, KnativeService, type KubeObject, NetworkPolicy, SinkBinding, Trigger } from './kinds.ts'

const audienceOf = (objects: readonly KubeObject[]): string =>
  `meshstep.${objects.flatMap(({ metadata }) => metadata.namespace ?? [])[0]}`

describe.skipIf(cannotBuild)('services', () => {
  describe.each(builds)('$name', ({ objects, components }) => {
    const services = all(objects, KnativeService)
    const containers = services.map(({ spec }) => spec.template.spec.containers[0])

    test('all functions run in one service, or each in one that is named after it', () => {
      const started = functionServices(objects).map(({ metadata, spec }) => ({
        name: metadata.name,
        args: spec.template.spec.containers[0].args,
      }))
      const separate = functions.map(({ name }) => ({ name: `meshstep-${name}`, args: [name] }))
      const expected = components.includes('functions') ? separate : [{ name: 'meshstep', args: [] }]
      expect(started).toEqual(expect.arrayContaining(expected))
      expect(started).toHaveLength(expected.length)
    })

    test('there is one dead-letter service beside the functions, and the page where it is wanted', () => {
      const service = services.find(({ metadata }) => metadata.name === 'meshstep-dead-letter')
      expect(service?.spec.template.spec.containers[0].args).toEqual(['dead-letter'])
      const page = services.filter(({ metadata }) => metadata.name === 'meshstep-page')
      expect(page).toHaveLength(components.includes('page') ? 1 : 0)
      expect(services).toHaveLength(functionServices(objects).length + 1 + page.length)
    })

    test('all start node itself, so that it gets SIGTERM', () => {
      for (const { metadata, spec } of services)
        expect(spec.template.spec.containers[0].command.join(' ')).toBe(
          metadata.name === 'meshstep-page' ? 'node page.mjs' : 'node --snapshot-blob /cache/server.blob server.cjs',
        )
    })

    test('all run one image', () => {
      expect(new Set(containers.map(({ image }) => image)).size).toBe(1)
    })

    test('all meet the pod security standard "restricted", with a file system that is not written', () => {
      for (const { spec } of services) {
        // a volume, a namespace of the host or another context would be a key more
        const keys = Object.keys(spec.template.spec).toSorted()
        const known = ['containerConcurrency', 'containers', 'responseStartTimeoutSeconds', 'serviceAccountName']
        expect(keys).toEqual([...known, 'timeoutSeconds'])
      }
      for (const { securityContext } of containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
        })
      }
    })

    test('all are reached inside the cluster only, on the port and paths the server has', () => {
      for (const { metadata } of services) {
        expect(metadata.labels['networking.knative.dev/visibility']).toBe('cluster-local')
      }
      for (const { ports, readinessProbe, livenessProbe } of containers) {
        expect(ports).toEqual([{ containerPort: 8080 }])
        expect(readinessProbe.httpGet.path).toBe('/health/readiness')
        expect(livenessProbe.httpGet.path).toBe('/health/liveness')
      }
    })

    test('all are bounded, and live long enough after SIGTERM to finish', () => {
      for (const { spec } of services) {
        const { containerConcurrency, timeoutSeconds, responseStartTimeoutSeconds, containers } = spec.template.spec
        expect(containerConcurrency).toBeGreaterThan(1)
        expect(timeoutSeconds).toBeGreaterThan(30 + 10)
        expect(responseStartTimeoutSeconds).toBeLessThanOrEqual(timeoutSeconds)
        expect(Object.keys(containers[0].resources.requests).toSorted()).toEqual(['cpu', 'memory'])
        expect(Object.keys(containers[0].resources.limits).toSorted()).toEqual(['cpu', 'memory'])
        expect(spec.template.metadata.annotations['autoscaling.knative.dev/max-scale']).toBe('1')
        expect(spec.template.metadata.labels['istio.io/dataplane-mode']).toBe('none')
      }
    })

    test('with network, all are reached by Knative alone, and reach the broker, DNS and the API server alone', () => {
      const [policy] = all(objects, NetworkPolicy)
      expect(policy !== undefined).toBe(components.includes('network'))
      if (!policy) return
      const { podSelector, policyTypes, ingress, egress } = policy.spec
      for (const { spec } of services) expect(spec.template.metadata.labels).toMatchObject(podSelector.matchLabels)
      expect(policyTypes).toEqual(['Ingress', 'Egress'])
      const namespaces = (name: string) => [
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
      ]
      const numbers = (ports: readonly { port: number }[]) => ports.map(({ port }) => port)
      expect(ingress.map(({ from, ports }) => [from, numbers(ports)])).toEqual([
        [namespaces('knative-serving'), [8012, 8013, 8022, 8112, 9090]],
      ])
      expect(egress.map(({ to, ports }) => [to, numbers(ports)])).toEqual([
        [namespaces('knative-eventing'), [8080, 8443]],
        [namespaces('kube-system'), [53, 53]],
        [[{ ipBlock: { cidr: '0.0.0.0/0' } }], [443, 6443]],
      ])
    })

    test('none uses the downward API, which Knative refuses by default', () => {
      expect(JSON.stringify(services)).not.toContain('fieldRef')
    })

    test('every function, and only functions, gets K_SINK', () => {
      const [binding, ...others] = all(objects, SinkBinding)
      expect(others).toEqual([])
      const selected = services.filter(({ metadata }) =>
        Object.entries(binding?.spec.subject.selector.matchLabels ?? {}).every(
          ([label, value]) => metadata.labels[label] === value,
        ),
      )
      expect(selected).toEqual(functionServices(objects))
      expect(binding?.spec.subject).toMatchObject({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' })
    })

    test('the page asks everybody for a token, with authentication or without', () => {
      for (const { metadata, spec } of services.filter(
        (one) => one.metadata.labels['app.kubernetes.io/component'] === 'page',
      ))
        expect([metadata.name, spec.template.spec.containers[0].env]).toEqual([
          'meshstep-page',
          [{ name: 'EVENT_AUDIENCE', value: audienceOf(objects) }],
        ])
    })

    test('with authentication, the audience a function expects is that of its namespace, and the one its triggers ask for', () => {
      const expected = components.includes('authentication') ? [audienceOf(objects)] : []
      for (const { spec } of functionServices(objects)) {
        const audiences = spec.template.spec.containers[0].env.filter(({ name }) => name === 'EVENT_AUDIENCE')
        expect(audiences.map(({ value }) => value)).toEqual(expected)
      }
      for (const { spec } of all(objects, Trigger)) {
        expect([spec.subscriber.audience].filter((audience) => audience !== undefined)).toEqual(expected)
        expect(spec.delivery.deadLetterSink.audience).toBeUndefined()
      }
    })
  })
})
