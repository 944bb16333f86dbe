import { NAMESPACE } from '../helpers/world.ts'

/** Data that are good, and have something of everything that may be said. */

const containers = [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: 'b' }], ports: [{ containerPort: 80 }] }]
const meshPolicy = {
  ...{ source_namespace: NAMESPACE, source_app_name: 'a', target_namespace: NAMESPACE, target_app_name: 'web' },
  ...{ target_selector_labels: null, target_service: null, target_type: 'app' },
  endpoints: [{ hosts: ['a'], ports: [80], methods: ['GET'], paths: ['/a/*', '/b/{*}/c'] }],
}
const rawPolicy = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'raw' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    action: 'ALLOW',
    rules: [{ from: [{ source: { principals: ['a'] } }], to: [{ operation: { paths: ['/a*'], ports: ['80'] } }] }],
  },
}

export const CONFIGS: readonly Record<string, unknown>[] = [
  { labels: { team: 'red' }, enrolment: 'in-place', service: 'web', workload: { kind: 'Deployment', name: 'web' } },
  {
    workload: {
      podSpec: { containers, serviceAccountName: 'web', volumes: [{ name: 'v', configMap: { name: 'c' } }] },
      deployment: { type: 'stateful', service: 'cluster' },
    },
    settings: { a: 'b' },
    databag: { api: { hello: 'world' } },
  },
  {
    policies: [
      { type: 'app', relation: 'api', endpoints: [{ ports: [80], methods: ['GET'], paths: ['/a'] }], service: 'web' },
      { type: 'unit', relation: 'metrics', ports: [9090] },
    ],
    versions: { service_mesh: [0] },
    enforcement: 'audit',
  },
  { meshPolicies: [meshPolicy], rawPolicies: [rawPolicy], trustDomain: 'a.b', serviceAccounts: { 'shop/a': 'b' } },
  {
    mesh: {
      ...{ type: 'istio', units: 2, modelOnMesh: true, hardened: true, rootNamespace: 'istio-system', adopt: true },
      ...{ externalTraffic: ['10.0.0.0/8'], trustDomain: 'a.b', trustDomains: { other: 'c.d' } },
    },
  },
  {
    coordinator: {
      ...{ roles: ['a', 'b'], metaRoles: { a: ['b'] }, minimalDeployment: ['a'], workerConfig: 'a: b' },
      ...{ telemetryProxy: { httpPort: 3300, httpsPort: 3301 }, workerPorts: { a: [1] }, leastPrivilege: true },
    },
  },
  { worker: { roles: ['a'] }, services: { db: { name: 'db', port: 5432 } } },
]

const relation = (id: number, endpoint: string, name: string, role: string) => ({ id, endpoint, interface: name, role })
const policies = JSON.stringify([meshPolicy])
const topology = JSON.stringify({ application: 'tempo', unit: 'tempo/0', charm_name: 'tempo' })

export const RELATIONS: readonly Record<string, unknown>[] = [
  {
    relation: relation(1, 'service-mesh', 'service_mesh', 'requires'),
    remote: {
      application: 'beacon',
      data: { labels: '{"istio.io/dataplane-mode": "ambient", "istio.io/use-waypoint": "w"}', mesh_type: '"istio"' },
    },
  },
  {
    relation: relation(2, 'service-mesh', 'service_mesh', 'provides'),
    remote: { application: 'db', namespace: 'bank', endpoint: 'mesh', data: { policies, versions: '["v0", "v1"]' } },
  },
  {
    relation: relation(3, 'cluster', 'cluster', 'requires'),
    remote: {
      application: 'tempo',
      data: {
        worker_config: '"a: b"',
        worker_labels: '{"app.kubernetes.io/part-of": "tempo"}',
        worker_ports: '[80]',
        loki_endpoints: '{"tempo/0": "http://tempo:80"}',
        remote_write_endpoints: '[{"url": "http://tempo:80"}]',
        ca_cert: '"x"',
      },
    },
  },
  {
    relation: relation(4, 'cluster', 'cluster', 'provides'),
    remote: {
      application: 'querier',
      data: { role: '"a"' },
      units: { 'querier/0': { address: '"querier-0.querier-endpoints"', juju_topology: topology } },
    },
  },
  {
    relation: relation(5, 'database', 'k8s-service', 'requires'),
    remote: { application: 'db', data: { 'service-name': 'db', 'service-port': '5432' } },
  },
  {
    relation: relation(6, 'provide-cmr-mesh', 'cross_model_mesh', 'provides'),
    remote: { application: 'far', data: { cmr_data: '{"app_name": "far", "juju_model_name": "bank"}' } },
  },
  {
    relation: relation(7, 'logging', 'loki_push_api', 'requires'),
    remote: { application: 'loki', data: {}, units: { 'loki/0': { endpoint: '{"url": "http://loki:3100/a?b=c"}' } } },
  },
  {
    relation: relation(8, 'metrics-endpoint', 'prometheus_scrape', 'provides'),
    remote: { application: 'prometheus', data: { prometheus_scrape_unit_address: '10.0.0.1' } },
  },
]

const SUBJECT = { namespace: NAMESPACE, application: 'web' }

/** Each event of ours: its name and its data. */
export const EVENTS: readonly { name: string; data: Record<string, unknown> }[] = [
  ...CONFIGS.map((config) => ({ name: 'config-changed', data: { ...SUBJECT, config } })),
  { name: 'config-changed', data: { ...SUBJECT, settings: { a: 'b' }, unit: 'web/0' } },
  ...RELATIONS.map((told) => ({ name: 'relation-changed', data: { ...SUBJECT, ...told } })),
  { name: 'relation-broken', data: { ...SUBJECT, relation: { id: 1 } } },
  { name: 'leader-elected', data: { ...SUBJECT, unit: 'web/0', epoch: 3 } },
  {
    name: 'pod-restarted',
    data: { ...SUBJECT, pod: { name: 'web-0', uid: 'u' }, status: { status: 'active', message: 'ok' } },
  },
  { name: 'application-removed', data: { ...SUBJECT } },
  { name: 'resync', data: { ...SUBJECT } },
  { name: 'resync', data: { namespace: NAMESPACE } },
]

const asText = (one: unknown): string => JSON.stringify(one)

/** The data of ConfigMaps that are documents, by their kind. */
export const DOCUMENTS: readonly { kind: string; data: Record<string, string> }[] = [
  ...CONFIGS.map((config) => ({ kind: 'config', data: { application: 'web', config: asText(config) } })),
  ...RELATIONS.map((told) => ({
    kind: 'relation',
    data: { application: 'web', relation: asText(told.relation), remote: asText(told.remote) },
  })),
  { kind: 'config', data: { application: 'web', config: 'labels: { team: red }\nservice: web # mine\n' } },
  {
    kind: 'relation',
    data: {
      application: '"web"',
      relation: '{ id: 1, endpoint: a, interface: b, role: requires }',
      remote: 'application: db\ndata: {}\n',
    },
  },
]
