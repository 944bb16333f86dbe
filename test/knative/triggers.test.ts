import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { demoWaypointObjects as istioObjects } from '../../src/embedded/demo/waypoint-objects.ts'
import { waypointObjects } from '../../src/mesh/istio/waypoint.ts'
import { LabelSelector, selects } from '../../src/platform/kubernetes/label-selector.ts'
import { functions } from '../helpers/functions.ts'
import { type Build, builds, cannotBuild, folder } from './builds.ts'
import { type Attributes, matches } from './filters.ts'
import { ApiServerSource, all, KnativeService, PingSource, Trigger } from './kinds.ts'

/** The labels of the pods that Istio makes for a beacon's waypoint. */
const waypointLabels = (): Record<string, string> => {
  const [gateway] = waypointObjects({ namespace: 'shop', application: 'beacon' }, {}, {})
  const made = gateway ? istioObjects(gateway, 1) : []
  const deployment = made.find(({ kind }) => kind === 'Deployment')
  const template = deployment?.spec?.template as { metadata: { labels: Record<string, string> } } | undefined
  return template?.metadata.labels ?? {}
}

type Sample = { name: string; attributes: Attributes; wakes: string[] }

/** What an ApiServerSource reports, by kind and extension, and the function that takes it. */
const fromApiServer: Record<string, Record<'add' | 'update' | 'delete', string[]>> = {
  Pod: { add: ['pod-restarted'], update: [], delete: ['pod-restarted'] },
  Deployment: { add: [], update: ['resync'], delete: [] },
  Lease: { add: ['leader-elected'], update: ['leader-elected'], delete: [] },
  'ConfigMap relation': { add: ['relation-changed'], update: ['relation-changed'], delete: ['relation-broken'] },
  'ConfigMap config': { add: ['config-changed'], update: ['config-changed'], delete: ['application-removed'] },
}

const resource = (kind: string, operation: string, extensions: Attributes): Attributes => ({
  type: `dev.knative.apiserver.resource.${operation}`,
  source: 'https://10.96.0.1:443',
  subject: `/apis/v1/namespaces/shop/${kind.toLowerCase()}s/web`,
  apiversion: 'v1',
  kind,
  name: 'web',
  namespace: 'shop',
  ...extensions,
})

const apiServerSamples = ({ objects }: Build): Sample[] =>
  all(objects, ApiServerSource).flatMap(({ spec }) => {
    const [{ kind }] = spec.resources
    const { extensions } = spec.ceOverrides
    const wakes = fromApiServer[[kind, ...Object.values(extensions)].join(' ')]
    if (!wakes) throw new Error(`expected a source this table knows, got ${kind} with ${JSON.stringify(extensions)}`)
    return Object.entries(wakes).map(([operation, names]) => ({
      name: `${kind} ${operation} ${Object.values(extensions)}`,
      attributes: resource(kind, operation, extensions),
      wakes: names,
    }))
  })

const ping = (name: string): Attributes => ({
  type: 'dev.knative.sources.ping',
  source: `/apis/v1/namespaces/shop/pingsources/${name}`,
})

const pingSamples = ({ objects }: Build): Sample[] =>
  all(objects, PingSource).map(({ metadata }) => ({
    name: metadata.name,
    attributes: ping(metadata.name),
    wakes: ['resync'],
  }))

const ownSamples: Sample[] = functions.map(({ name, type }) => ({
  name: type,
  attributes: { type, source: '/apis/v1/namespaces/shop', subject: 'shop/web', partitionkey: 'shop/web' },
  wakes: [name],
}))

const strangers: Sample[] = [
  { type: 'dev.meshstep.reconciled.v1', source: '/meshstep', subject: 'shop/web' },
  ...['service-available', 'service-changed', 'service-unavailable', 'settings-changed'].map((name) => ({
    type: `dev.meshstep.${name}.v1`,
    source: '/meshstep/shop/web',
    subject: 'shop/web',
    partitionkey: 'shop/web',
  })),
  { type: 'dev.meshstep.relation-changed.v2', source: '/meshstep' },
  { type: 'dev.meshstep.relation-changed', source: '/meshstep' },
  ping('another'),
  resource('ConfigMap', 'update', {}),
  { ...resource('Pod', 'add', {}), type: 'dev.knative.apiserver.ref.add' },
  resource('Secret', 'add', { meshstepdocument: 'relation' }),
].map((attributes) => ({ name: JSON.stringify(attributes), attributes, wakes: [] }))

/** The names of the Services that get an event: its function's, or the one of all. */
const wokenBy = ({ objects }: Build, attributes: Attributes): string[] =>
  all(objects, Trigger)
    .filter(({ spec }) => spec.filters.every((filter) => matches(filter, attributes)))
    .map(({ spec }) => spec.subscriber.ref.name)

const servicesOf = ({ components }: Build, names: readonly string[]): string[] =>
  names.map((name) => (components.includes('functions') ? `meshstep-${name}` : 'meshstep'))

describe.skipIf(cannotBuild)('triggers', () => {
  describe.each(builds)('$name', (build) => {
    const { objects, components } = build
    const samples = [...ownSamples, ...apiServerSamples(build), ...pingSamples(build), ...strangers]

    test.each(samples)('$name wakes $wakes', ({ attributes, wakes }) => {
      expect(wokenBy(build, attributes)).toEqual(servicesOf(build, wakes))
    })

    test('each build of the manifests has the sources its components promise', () => {
      const kinds = all(objects, ApiServerSource).map(({ spec }) => spec.resources[0].kind)
      expect(kinds.toSorted()).toEqual([
        'ConfigMap',
        'ConfigMap',
        'Deployment',
        ...(components.includes('leases') ? ['Lease'] : []),
        'Pod',
      ])
      expect(all(objects, PingSource)).toHaveLength(1)
    })

    test.each([
      [
        'an application, also on the mesh',
        { 'app.kubernetes.io/name': 'web', 'istio.io/dataplane-mode': 'ambient' },
        true,
      ],
      ['a function', { 'serving.knative.dev/service': 'meshstep' }, false],
      ['a source', { 'eventing.knative.dev/source': 'apiserver-source-controller' }, false],
      ["a beacon's waypoint", waypointLabels(), false],
    ])('that a pod of %s is added, by its labels %j, is sent: %s', (_, labels, isTold) => {
      const [source] = all(objects, ApiServerSource).filter(({ spec }) => spec.resources[0].kind === 'Pod')
      expect(selects(LabelSelector.parse(source?.spec.resources[0].selector), labels)).toBe(isTold)
    })

    test('each trigger delivers to the service that runs its function', () => {
      const services = all(objects, KnativeService)
      for (const { metadata, spec } of all(objects, Trigger)) {
        const service = services.find((candidate) => candidate.metadata.name === spec.subscriber.ref.name)
        const args = service?.spec.template.spec.containers[0].args
        expect(args).toEqual(components.includes('functions') ? [metadata.name.replace('meshstep-', '')] : [])
      }
    })

    test('each trigger retries with backoff, and then gives the event to the dead-letter sink', () => {
      for (const { spec } of all(objects, Trigger)) {
        expect(spec.delivery).toEqual({
          retry: build.name.startsWith('overlays/kafka') ? 7 : 5,
          backoffPolicy: 'exponential',
          backoffDelay: 'PT0.5S',
          timeout: 'PT60S',
          deadLetterSink: {
            ref: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'meshstep-dead-letter' },
          },
        })
      }
    })
  })
})

test.each(['base/trigger.yaml', 'components/functions/functions.yaml'])(
  '%s has the type of each function, and no other',
  (file) => {
    const named = readFileSync(join(folder, file), 'utf8').matchAll(/exact: \{ type: (dev\.meshstep\.[\w.-]+)/g)
    expect([...named].map(([, type]) => type).toSorted()).toEqual(functions.map(({ type }) => type).toSorted())
  },
)
