import { event, NAMESPACE, service, workload } from '../helpers/world.ts'
import { DEEP, ends, MEMORY, numbered, OWN, related, restarted, TEMPLATE, WIDE } from './race.ts'
import { runScenarios } from './run-scenarios.ts'
import { call, type Scenario } from './scenario.ts'

const inherited = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'juju-service-mesh-web-labels', namespace: NAMESPACE },
  data: { labels: '{"istio.io/use-waypoint": "on"}' },
}

const unlabelled = call('PATCH', '/api/v1/namespaces/{namespace}/services/web?fieldManager=somebody', {
  metadata: { labels: { 'istio.io/use-waypoint-namespace': null } },
})

/** Another Service of the application. */
const other = { ...service(), metadata: { ...service().metadata, name: 'other' } }

const scenarios: Scenario[] = [
  {
    name: 'the config changes while the relation does',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' })],
    race: [
      numbered(2, 'config-changed', { config: { labels: { c: '1' } } }),
      related(3, { 'istio.io/ingress-use-waypoint': '1' }),
    ],
    ends: ends({ 'istio.io/ingress-use-waypoint': '1', c: '1' }),
    bounds: WIDE,
  },
  {
    name: 'the Service is named otherwise while the relation changes',
    objects: [workload(), service(), other],
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' })],
    race: [
      numbered(2, 'config-changed', { config: { service: 'other' } }),
      related(3, { 'istio.io/ingress-use-waypoint': '1' }),
    ],
    ends: { ...ends({ 'istio.io/ingress-use-waypoint': '1' }), service: OWN },
    bounds: DEEP,
  },
  {
    name: 'the application is removed while late events come',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' })],
    race: [numbered(5, 'application-removed', {}), related(2, { 'istio.io/ingress-use-waypoint': '1' })],
    ends: ends({}),
    bounds: WIDE,
  },
  {
    name: 'the application moves over from the charm library',
    objects: [workload(), service(), inherited],
    before: [
      call('PATCH', '/apis/apps/v1/namespaces/{namespace}/statefulsets/web?fieldManager=web', {
        spec: { template: { metadata: { labels: { 'istio.io/use-waypoint': 'on' } } } },
      }),
    ],
    race: [
      related(1, { 'istio.io/use-waypoint-namespace': '1' }),
      related(2, { 'istio.io/ingress-use-waypoint': '1' }),
    ],
    ends: ends({ 'istio.io/ingress-use-waypoint': '1' }),
    bounds: WIDE,
  },
  {
    name: 'somebody takes a key that is being applied',
    race: [
      related(1, { 'istio.io/use-waypoint-namespace': '1', 'istio.io/use-waypoint': 'on' }),
      call('PATCH', '/api/v1/namespaces/{namespace}/services/web?fieldManager=kyverno', {
        metadata: { labels: { 'istio.io/use-waypoint': 'off' } },
      }),
      restarted('u'),
    ],
    // the first event that finds the key taken notes since when that is waited for
    after: [restarted('v')],
    ends: {
      template: { ...TEMPLATE, 'istio.io/use-waypoint-namespace': '1', 'istio.io/use-waypoint': 'on' },
      service: { ...OWN, 'istio.io/use-waypoint-namespace': '1', 'istio.io/use-waypoint': 'off' },
      memory: { 'istio.io/use-waypoint-namespace': '1', 'istio.io/use-waypoint': 'on' },
    },
    bounds: WIDE,
  },
  {
    name: 'the memory is deleted by hand while the relation changes',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' })],
    race: [call('DELETE', MEMORY), related(2, { 'istio.io/ingress-use-waypoint': '1' })],
    after: [related(3, { 'istio.io/use-waypoint': '1' })],
    ends: ends({ 'istio.io/use-waypoint': '1' }),
    bounds: DEEP,
  },
  {
    name: 'pods are labelled in place while they restart',
    objects: [workload(), service()],
    before: [numbered(1, 'config-changed', { config: { enrolment: 'in-place' } })],
    race: [
      related(2, { 'istio.io/use-waypoint': 'on' }),
      call('DELETE', '/api/v1/namespaces/{namespace}/pods/web-0'),
      restarted('u'),
    ],
    after: [restarted('v')],
    ends: {
      template: TEMPLATE,
      service: { ...OWN, 'istio.io/use-waypoint': 'on' },
      memory: { 'istio.io/use-waypoint': 'on' },
      pods: { 'istio.io/use-waypoint': 'on' },
    },
    bounds: WIDE,
  },
  {
    name: 'enrolment changes from rolling to in-place while the relation changes',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' })],
    race: [
      numbered(2, 'config-changed', { config: { enrolment: 'in-place' } }),
      related(3, { 'istio.io/ingress-use-waypoint': '1' }),
    ],
    after: [restarted('v')],
    ends: {
      template: TEMPLATE,
      service: { ...OWN, 'istio.io/ingress-use-waypoint': '1' },
      memory: { 'istio.io/ingress-use-waypoint': '1' },
      pods: { 'istio.io/ingress-use-waypoint': '1' },
    },
    bounds: WIDE,
  },
  {
    name: 'the namespace is resynced in one process while the relation changes',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' }), unlabelled],
    race: [event('resync', { application: undefined }), related(2, { 'istio.io/ingress-use-waypoint': '1' })],
    isOwnSink: true,
    ends: ends({ 'istio.io/ingress-use-waypoint': '1' }),
    bounds: WIDE,
  },
  {
    name: 'the namespace is resynced by two processes, each by itself, after a label was taken',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' }), unlabelled],
    race: [event('resync', { application: undefined }), event('resync', { application: undefined })],
    isOwnSink: true,
    ends: ends({ 'istio.io/use-waypoint-namespace': '1' }),
    bounds: WIDE,
  },
  {
    name: 'the namespace is resynced in one process while the application is removed',
    before: [related(1, { 'istio.io/use-waypoint-namespace': '1' }), unlabelled],
    race: [event('resync', { application: undefined }), numbered(2, 'application-removed', {})],
    isOwnSink: true,
    ends: ends({}),
    bounds: WIDE,
  },
]

runScenarios('config, removal and others', scenarios)
