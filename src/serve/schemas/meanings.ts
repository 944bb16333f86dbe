import type { Config } from '../../core/state/config.ts'

/** The meaning of each place in data, by its path, such as `relation.id`, `pods[].name` or `units.*.minimum`. */
export type Meanings = Readonly<Record<string, string>>

const under = (path: string, meanings: Meanings): Meanings =>
  Object.fromEntries(Object.entries(meanings).map(([key, meaning]) => [`${path}.${key}`, meaning]))

const MATCHERS: Meanings = {
  principals: 'Accounts of clients, as `{trust domain}/ns/{namespace}/sa/{account}`.',
  requestPrincipals: 'Principals of tokens, as `{issuer}/{subject}`.',
  namespaces: 'Namespaces of clients.',
  ipBlocks: 'Addresses of clients, as in their connections, or CIDRs.',
  remoteIpBlocks: 'Addresses of clients, as in `X-Forwarded-For`, or CIDRs.',
  serviceAccounts: 'Accounts of clients, as `{namespace}/{account}`.',
  trustDomains: 'Trust domains of clients.',
}

const OPERATIONS: Meanings = {
  hosts: 'Hosts of requests.',
  ports: 'Ports of the target, as text.',
  methods: 'Methods of requests.',
  paths: 'Paths of requests.',
}

/** Adds the negated field for each list of Istio's. */
const withNot = (meanings: Meanings): Meanings =>
  Object.fromEntries(
    Object.entries(meanings).flatMap(([key, meaning]) => [
      [key, meaning],
      [`not${key.charAt(0).toUpperCase()}${key.slice(1)}`, `Values that must not match, in the form of \`${key}\`.`],
    ]),
  )

const targetRef: Meanings = {
  group: 'The API group of the target; empty for a Service.',
  kind: 'The kind of the target, such as Service or Gateway.',
  name: 'The name of the target.',
  namespace: 'The namespace of the target, which is that of the policy.',
}

const rawPolicy: Meanings = {
  apiVersion: 'The version of the API of AuthorizationPolicies.',
  kind: 'AuthorizationPolicy, the only kind that is supported.',
  metadata: 'Metadata of the AuthorizationPolicy.',
  'metadata.name': 'The name of the AuthorizationPolicy.',
  'metadata.namespace': 'The namespace of the AuthorizationPolicy. Default: that of the application.',
  'metadata.labels': 'Labels of the AuthorizationPolicy, besides those that meshstep needs.',
  'metadata.annotations': 'Annotations of the AuthorizationPolicy, besides those that meshstep needs.',
  spec: 'The spec of the AuthorizationPolicy, as in Istio.',
  'spec.selector': 'Selects the pods that the policy guards. Without a target it guards its whole namespace.',
  'spec.selector.matchLabels': 'Labels that the pods have.',
  'spec.targetRef': 'The Service or Gateway that the policy guards, at a waypoint.',
  ...under('spec.targetRef', targetRef),
  'spec.targetRefs': 'The Services or Gateways that the policy guards, at a waypoint.',
  ...under('spec.targetRefs[]', targetRef),
  'spec.action': 'The action on requests that match. Default: ALLOW.',
  'spec.provider': 'The extension provider that decides, with the action CUSTOM.',
  'spec.provider.name': 'The name of the extension provider, as in the mesh config.',
  'spec.rules': 'A request matches the policy if it matches one of these rules.',
  'spec.rules[].from': 'The clients. One of the entries must match. Default: all clients.',
  'spec.rules[].from[].source': 'A client matches if each given list has a value that matches it.',
  ...under('spec.rules[].from[].source', withNot(MATCHERS)),
  'spec.rules[].to': 'The requests. One of the entries must match. Default: all requests.',
  'spec.rules[].to[].operation': 'A request matches if each given list has a value that matches it.',
  ...under('spec.rules[].to[].operation', withNot(OPERATIONS)),
  'spec.rules[].when': 'Conditions of a request. All must match.',
  'spec.rules[].when[].key': 'The attribute of a request, such as `request.headers[version]`.',
  'spec.rules[].when[].values': 'Values of the attribute. One of them must match.',
  'spec.rules[].when[].notValues': 'Values of the attribute. None of them may match.',
}

const endpoint: Meanings = {
  hosts: 'Hosts of requests. Default: any.',
  ports: 'Ports of requests: integers, or text of digits. Default: any.',
  methods: 'Methods of requests, in capitals. Default: any.',
  paths: 'Paths of requests: exact, `prefix*`, `*suffix`, or with `{*}` and `{**}`. Default: any.',
}

const meshPolicy: Meanings = {
  source_namespace: 'The namespace of the client.',
  source_app_name: 'The application that is the client.',
  target_namespace: 'The namespace of the target.',
  target_app_name: 'The application that is the target.',
  target_selector_labels: 'Labels of the pods that are the target, with `target_type: unit`.',
  target_service: 'The Service that is the target, with `target_type: app`. Default: that of the application.',
  target_type: '`app` guards a Service at the waypoint; `unit` guards pods, by port only. Default: app.',
  endpoints: 'The requests that may pass: those that match one of these. An empty list allows all.',
  ...under('endpoints[]', endpoint),
}

const mesh: Meanings = {
  type: 'The mesh. Default: istio, the only one.',
  waypoint: 'Runs a waypoint. Without a waypoint nothing enforces hosts, methods and paths. Default: true.',
  units: 'The number of pods of the waypoint. Default: 1.',
  modelOnMesh: 'Puts the whole namespace on the mesh, instead of the related applications. Default: false.',
  manageAuthorizationPolicies:
    'Related applications get the policies that they ask for. If it is false, these are removed. Default: true.',
  hardened: 'Denies every request in the mesh that no policy allows. Default: false.',
  enforcement:
    '`audit` makes all policies of the beacon and of its consumers dry runs. Default: that of the application, else enforce.',
  rootNamespace: 'The root namespace of Istio: policies in it hold for the whole mesh. Default: istio-system.',
  trustDomain: 'The trust domain of the mesh. Default: cluster.local.',
  trustDomainAliases: 'Other names of the trust domain, as in `trustDomainAliases` of the mesh config.',
  trustDomains:
    'The trust domains of namespaces with other trust domains, such as those of another cluster, by namespace.',
  policies:
    '`related` is the `policies` of related applications whose config has none. Default: they have no policies.',
  guard:
    '`declared` guards a target as long as policies name it; `whenGranted` guards it only while access to it is granted, and leaves it open otherwise. Default: declared.',
  adopt: 'Takes over from the charm library: removes its objects once the new ones are applied. Default: false.',
  externalTraffic:
    'Addresses and CIDRs that may reach the ingress Gateway of the application from outside. An empty list admits no client. Default: no policy is written.',
  backends: 'Applications whose pods the ingress Gateway may reach.',
  'backends[].namespace': 'The namespace of the backend. Default: that of the application.',
  'backends[].application': 'The application that is the backend.',
  'backends[].ports': 'The ports at which the Gateway may reach the backend.',
  externalAuthorizer: 'The extension provider that authorizes requests at the ingress Gateway.',
}

const podNames: Meanings = {
  headlessService: 'The headless Service that names the pods. Default: `{application}-endpoints`.',
  clusterDomain: 'The DNS domain of the cluster. Default: that of the functions’ own cluster.',
  charm: 'The charm, for the label `juju_charm`. Default: the application.',
}

const rules: Meanings = {
  name: 'The name of the group.',
  interval: 'The time between two evaluations, such as `1m`.',
  rules: 'The rules of the group: alerts, and recordings.',
  'rules[].alert': 'The name of the alert.',
  'rules[].record': 'The name of the series that the rule records.',
  'rules[].expr': 'The expression. In it `%%juju_topology%%` stands for the labels of its application.',
  'rules[].for': 'The time for which the expression has to hold before the alert fires.',
  'rules[].labels': 'Labels of the alert or the series.',
  'rules[].annotations': 'Annotations of the alert.',
}

const rulesByKind: Meanings = {
  metrics: 'Groups of rules for Prometheus.',
  ...under('metrics[]', rules),
  logs: 'Groups of rules for Loki.',
  ...under('logs[]', rules),
}

const gateway: Meanings = {
  upstreams: 'The targets of requests, by name.',
  'upstreams.*.role':
    'The role of the workers in the upstream, or `*` for all workers. Default: the name of the upstream.',
  'upstreams.*.port': 'The port of the workers.',
  'upstreams.*.tls': 'The upstream uses TLS. Default: the same as the cluster.',
  servers: 'The ports that nginx listens on.',
  'servers[].port': 'The port. It may be the port of the telemetry proxy.',
  'servers[].tls': 'The server uses TLS. Default: the same as the cluster.',
  'servers[].grpc': 'The server takes only gRPC. Default: false.',
  'servers[].locations': 'The paths that the server takes.',
  'servers[].locations[].path': 'The path, or the regular expression.',
  'servers[].locations[].match':
    '`prefix` takes all paths with this prefix, `exact` only this path, `regex` all paths that match. Default: prefix.',
  'servers[].locations[].upstream': 'The upstream that gets the requests, with their paths.',
  'servers[].locations[].websocket': 'Connections may become WebSockets. Default: false.',
  'servers[].locations[].headers': 'Headers to set in requests, by name.',
}

const coordinator: Meanings = {
  roles: 'The roles that workers may have.',
  metaRoles: 'Roles that stand for several roles, such as `{ all: [read, write] }`. Their names are also in `roles`.',
  minimalDeployment: 'Roles that the cluster needs to work. Default: none.',
  units: 'The number of units for a role. Default: one for each role of `minimalDeployment`.',
  'units.*.minimum': 'With fewer units the cluster does not work.',
  'units.*.recommended': 'With fewer units the cluster works, degraded.',
  'units.*.maximum': 'More units are superfluous. 0 means that the cluster should not have the role.',
  workerMetricsPort: 'The port of the metrics of the workers. Default: 8080.',
  nginxExporterPort: 'The port of the metrics of the nginx of the coordinator. Default: 9113.',
  telemetryProxy:
    'The ports at which the coordinator takes the telemetry of the workers. Default: telemetry is not routed.',
  'telemetryProxy.httpPort': 'The port without TLS.',
  'telemetryProxy.httpsPort': 'The port with TLS.',
  'telemetryProxy.grpcPort':
    'The port of gRPC traces of workloads; the next one is for those of charms. Default: the first two ports after `httpPort` that are not `httpsPort`.',
  nginx: 'The API of the cluster, which the nginx of the coordinator serves.',
  ...under('nginx', gateway),
  reload:
    'Replaces the pods of the coordinator when nginx.conf changes, and publishes routes once all pods have them. Default: false.',
  tls: 'The cluster uses TLS: `true`, a Secret, or certificates to pass on to the workers. Default: false.',
  'tls.caCert': 'The certificate of the authority, as PEM.',
  'tls.serverCert': 'The certificate of the server, as PEM.',
  'tls.privkeySecretId': 'The id of the secret that has the private key.',
  'tls.secret': 'The Secret of the type `kubernetes.io/tls` that the pods of the coordinator mount.',
  workerConfig:
    'The config of the workers: text, which is passed on as it is, or an object, which is passed on as JSON.',
  workerPorts: 'The ports that workers open: one list for all, or a list for each role.',
  s3TlsCaChain: 'The certificates of the authorities of S3, as PEM, for the workers.',
  leastPrivilege: 'Opens only the ports that are named inside the cluster. It needs `workerPorts`. Default: false.',
  'leastPrivilege.ports': 'The own ports of the coordinator, besides those of the telemetry proxy.',
  charmTracingProtocols:
    'The protocols to request for the traces of charms. Receivers of others are not used. Default: `[otlp_http]`.',
  workloadTracingProtocols:
    'The protocols to request for the traces of workloads. Receivers of others are not used. Default: none is requested, and all are used.',
  alertRules: 'Rules that are published to applications that scrape metrics and take logs.',
  'alertRules.workers': 'Rules for each application of workers.',
  ...under('alertRules.workers', rulesByKind),
  'alertRules.coordinator': 'Rules for the coordinator.',
  ...under('alertRules.coordinator', rulesByKind),
  modelUuid: 'The UUID for the label `juju_model_uuid`. Default: the id that Juju gave the namespace, else its uid.',
  ...podNames,
  endpoints: 'The names of the endpoints of the coordinator.',
  'endpoints.cluster': 'The endpoint of the workers. Default: any of the interface `cluster`.',
  'endpoints.metrics': 'The endpoint of applications that scrape metrics. Default: metrics-endpoint.',
  'endpoints.logging': 'The endpoint of Loki. Default: logging.',
  'endpoints.remoteWrite': 'The endpoint of remote write. Default: send-remote-write.',
  'endpoints.charmTracing': 'The endpoint of the traces of charms. Default: charm-tracing.',
  'endpoints.workloadTracing': 'The endpoint of the traces of workloads. Default: workload-tracing.',
  'endpoints.certificates': 'The endpoint of certificates of authorities. Default: receive-ca-cert.',
  'endpoints.serviceMesh': 'The endpoint of the beacon. Default: service-mesh.',
  'endpoints.serviceMeshProvideCmrMesh':
    'The endpoint that publishes names to other models. Default: provide-cmr-mesh.',
  'endpoints.serviceMeshRequireCmrMesh': 'The endpoint that reads names of other models. Default: require-cmr-mesh.',
}

const workload: Meanings = {
  kind: 'The kind of the workload to label, StatefulSet or Deployment.',
  name: 'The name of the workload to label.',
  podSpec: 'The pod spec of a workload that meshstep deploys, in the form of Kubernetes or of Juju.',
  volumeClaimTemplates: 'Storage: a claim for each pod, which needs a stateful deployment.',
  deployment: 'The deployment: `type`, `service` and `externalName`.',
  podMetadata: 'Labels and annotations of the pods, besides those that meshstep needs.',
  strategy: 'The update strategy of a stateless application, as in a Deployment.',
  updateStrategy: 'The update strategy of a stateful application, as in a StatefulSet.',
  podManagementPolicy: 'The order in which pods start, OrderedReady or Parallel. Default: Parallel.',
  serviceName:
    'The headless Service that names the pods of a stateful application. Default: `{application}-endpoints`.',
  service: 'Annotations and ports of the Service for clients.',
  serviceAccount: 'The ServiceAccount to create for the pods. Default: the name of the application.',
  configMaps: 'ConfigMaps to create with the workload, by name.',
  secrets: 'Secrets to create with the workload, by name.',
  secretEnv: 'Tells for variables, by name, if their value is secret.',
  podDisruptionBudget: 'The PodDisruptionBudget of the pods.',
  'kubernetes-service-type': 'The kind of Service that a user chose. It overrides that of `deployment`.',
  replicas: 'The number of pods. Default: 1 at first, then the number to which the workload is scaled.',
  revision: 'Any text, only for readers of the config.',
}

const expectation: Meanings = {
  from: 'The client, as `namespace/application`. Default: a client outside the mesh.',
  port: 'The port of the target.',
  method: 'The method of the request. Default: any.',
  path: 'The path of the request. Default: any.',
  allowed: '`true` if the request has to pass, `false` if it has to be refused.',
}

const config: Readonly<Record<keyof Config, string>> & Meanings = {
  labels: 'Labels for the workload, besides those of the mesh. An invalid label is skipped.',
  policies:
    'Requests that related applications may make. Its policies let these in once it has a beacon. `related` derives them from the relations: each requirer may use the Service.',
  'policies[].type': '`app` guards the Service at the waypoint; `unit` guards the pods, by port only.',
  'policies[].relation': 'The endpoint of the relations whose peer is the client.',
  'policies[].endpoints': 'The requests that may pass: those that match one of these. An empty list allows all.',
  ...under('policies[].endpoints[]', endpoint),
  'policies[].service': 'Another Service of the application. Default: the Service of its name.',
  'policies[].ports': 'The ports of the pods that may be reached. Default: all.',
  meshPolicies: 'Requests that the application grants itself, without a beacon.',
  ...under('meshPolicies[]', meshPolicy),
  rawPolicies: 'AuthorizationPolicies to apply as they are.',
  ...under('rawPolicies[]', rawPolicy),
  enforcement:
    '`audit` writes policies as dry runs: those of the application, and, at a beacon, those of its consumers. Default: enforce.',
  mesh: 'Makes the application a beacon, which runs the mesh for the applications that are related to it.',
  ...under('mesh', mesh),
  trustDomain: 'The trust domain in the policies of the application. Default: that of `mesh`, else cluster.local.',
  serviceAccounts:
    'The ServiceAccounts of applications that do not run as the one of their name, by `namespace/application`.',
  coordinator: 'Makes the application the coordinator of a cluster of workers.',
  ...under('coordinator', coordinator),
  worker: 'Makes the application a worker of a cluster.',
  'worker.roles': 'The roles of the worker. Without a role it waits for one.',
  ...under('worker', podNames),
  services: 'The Services to offer in relations of the interface `k8s-service`, by endpoint.',
  'services.*.name': 'The name of the Service.',
  'services.*.port': 'The port of the Service.',
  workload:
    'The workload to label, by kind and name, or one that meshstep deploys, by its pod spec; null for none. Default: the StatefulSet, else the Deployment, of the name of the application.',
  ...under('workload', workload),
  service: 'The Service to label; null for none. Default: that of the name of the application.',
  enrolment:
    '`rolling` labels the pod template, which restarts the pods; `in-place` labels the pods that run. Default: rolling.',
  expect: 'Requests that have to pass, or have to be refused. A step reports those with another result.',
  ...under('expect[]', expectation),
  'expect[].to': 'The target, as `namespace/application`. Default: the application itself.',
  settings: 'The settings of the application for its units. They override those that its leader sets.',
  databag:
    'Data to publish in relations beside their protocols, by endpoint. They override those that the leader sets.',
  versions: 'The versions of a protocol that the application may speak, by interface. Default: all that are supported.',
}

const subject: Meanings = {
  namespace: 'The namespace of the application. Default: that of the subject.',
  application: 'The application that the event is about. Default: that of the subject.',
}

const relation: Meanings = {
  relation: 'The relation, as the application sees it.',
  'relation.id': 'The id of the relation, a number from its platform.',
  'relation.endpoint': 'The endpoint of the application.',
  'relation.interface': 'The interface. It decides what both sides publish.',
  'relation.role': 'The role of the application in the relation.',
}

const remote: Meanings = {
  remote: 'The peer in the relation.',
  'remote.application': 'The peer’s application.',
  'remote.namespace': 'The peer’s namespace. Default: that of the application.',
}

const established: Meanings = {
  ...relation,
  ...remote,
  'remote.endpoint': 'The peer’s endpoint.',
  'remote.data':
    'The peer’s databag. It is empty here for an application with a memory, because that publishes its own.',
  'remote.units': 'The databags of the peer’s units, by unit.',
}

const step: Meanings = {
  status: 'The outcome in a word.',
  written: 'The names of the objects that were written.',
  removed: 'The names of those that were deleted.',
  conflicts: 'What another field manager holds.',
  'conflicts[].object': 'The name of the object.',
  'conflicts[].manager': 'Who holds it.',
  'conflicts[].key': 'The key of the label, or the path of the field.',
  'conflicts[].value': 'The value that it has.',
  'conflicts[].wanted': 'The value that it should have.',
  messages: 'Sentences for people.',
  drift: 'The changes of others that a resync repaired.',
  'drift[].object': 'The name of the object.',
  'drift[].label': 'The key of the label.',
  'drift[].field': 'The path of the field.',
  'drift[].was': 'The value before the repair.',
  'drift[].is': 'The value after the repair.',
}

const sender: Meanings = {
  namespace: 'The namespace of the application.',
  application: 'The application that the event is about.',
}

const announced: Meanings = {
  ...sender,
  ...Object.fromEntries(
    Object.entries({
      service: 'The Service that is offered now',
      previous: 'The Service that was offered before',
    }).flatMap(([key, what]) => [
      [key, `${what}.`],
      [`${key}.relation`, 'The id of the relation, with its provider if only the provider told of it.'],
      [`${key}.endpoint`, 'The endpoint of the application.'],
      [`${key}.application`, 'The application that offers the Service.'],
      [`${key}.host`, 'The DNS name of the Service, good in every namespace.'],
      [`${key}.port`, 'The port of the Service.'],
    ]),
  ),
}

const document: Meanings = { document: 'The ConfigMap document that is the source of the event.' }

/**
 * The meaning of each key of the config, and of each field of an event. The schema of that name has no others. The meanings are not beside the keys,
 * because the bundle of the functions has no room for them.
 */
export const meanings: Readonly<Record<string, Meanings>> = {
  config,
  relation: established,
  expect: {
    expect: 'Requests that have to pass, or have to be refused.',
    ...under('expect[]', expectation),
    'expect[].to': 'The target, as `namespace/application`.',
  },
  'relation-changed': { ...subject, ...established, ...document },
  'relation-broken': { ...subject, ...relation, ...remote, ...document },
  'config-changed': {
    ...subject,
    config: 'The config of the application, as a whole.',
    ...under('config', config),
    settings: 'The settings that the leader sets for all units, as a whole.',
    databag: 'The data that the leader publishes in relations beside their protocols, by endpoint, as a whole.',
    unit: 'The unit that sends the event. It must be the leader. Data from before its election wait for that.',
    epoch: 'The epoch in which the unit leads.',
    uid: 'The uid of the pod of the unit.',
    ...document,
  },
  'leader-elected': {
    ...subject,
    unit: 'The unit that leads.',
    epoch: 'The epoch of the election, which only grows.',
    lease: 'The Lease by which the leader was elected.',
    'lease.uid': 'The uid of the Lease. A Lease that is created again has another uid, and its epochs start again.',
    'lease.created': 'The time at which the Lease was created.',
  },
  'pod-restarted': {
    ...subject,
    unit: 'The unit of the pod.',
    pod: 'The pod that started, reports its status, or is gone.',
    'pod.name': 'The name of the pod.',
    'pod.uid': 'The uid of the pod.',
    'pod.created': 'The time at which the pod was created.',
    gone: 'The pod was deleted, ended, or was evicted.',
    status: 'The status that the unit reports.',
    'status.status': 'The status, in the words of Juju.',
    'status.message': 'The reason for the status.',
    databag: 'The data that the unit publishes in relations beside their protocols, by endpoint.',
  },
  'application-removed': { ...subject, ...document },
  resync: {
    ...subject,
    former: 'Objects with labels of a lost memory.',
    'former[].kind': 'The kind of the object.',
    'former[].name': 'The name of the object.',
    'former[].on': '`pods` if the running pods have the labels, instead of the template.',
    owned: 'The kinds of the objects that the application owns.',
    documents: 'The ConfigMap documents that name the application.',
    named: 'The applications whose memories name the application.',
  },
  reconciled: {
    function: 'The function that took the event. Absent where none takes it.',
    namespace: 'The namespace of the application.',
    application: 'The application that the event was about. Absent where it was about a namespace.',
    ...step,
    published: 'The peers that were notified, and announcements.',
    conditions:
      'Everything that is open at the application, in the form of conditions of Kubernetes. It is ready where there are none.',
    'conditions[].type': 'How bad it is, in the words of Juju for a status.',
    'conditions[].status': 'True: a condition that is over is not listed.',
    'conditions[].reason': 'The reason, in one word; the page about errors has each.',
    'conditions[].object': 'The relation or object that it is about.',
    'conditions[].for': 'Who has to act, or what is missing.',
    'conditions[].since': 'The time since which it lasts, if known.',
    'conditions[].message': 'A sentence that says what is open, and what ends it.',
    applicationStatus: 'The status of the application. Absent where it is just active, or removed.',
    'applicationStatus.status': 'The status, in the words of Juju.',
    'applicationStatus.message': 'The reason for the status.',
    'applicationStatus.since': 'The time since which it waits.',
    effects: 'The steps of other applications that followed.',
    ...under('effects[]', { ...sender, application: 'The application of the step.', ...step }),
  },
  planned: {
    steps: 'The steps that would change something or wait.',
    outcomes: 'The last step of each application that would still wait or has a message.',
    objects: 'Each object that would change, with a diff.',
    access: 'Each client that would gain or lose access.',
    expectations: 'Each expectation, and if it would be met.',
    incomplete: 'The access that was not compared, and why.',
    messages: 'Sentences for people about the plan.',
  },
  'service-available': announced,
  'service-changed': announced,
  'service-unavailable': announced,
  'settings-changed': {
    ...sender,
    relation: 'The relation whose peer has new data. Absent where the settings are those of the application.',
    'relation.id': 'The id of the relation.',
    'relation.endpoint': 'The endpoint of the application.',
    'relation.application': 'The peer’s application.',
  },
}
