import { expect, test } from 'vitest'
import {
  type Cause,
  causesOf,
  duplicate,
  forbidden,
  invalid,
  mounted,
  podSpec,
  required,
  template,
  unsupported,
  volume,
} from '../causes.ts'
import { createClient, DEPLOYMENTS, PODS } from '../client.ts'

type Body = Record<string, unknown>

const POD = 'spec.template.spec'
const CONTAINER = `${POD}.containers[0]`

const fieldRef = (fieldPath: string): Body => ({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath } } }] })

const resourceRef = (resourceFieldRef: Body): Body => ({ env: [{ name: 'A', valueFrom: { resourceFieldRef } }] })
const device = (request: string, limit: string): Body => ({
  requests: { 'example.com/gpu': request },
  limits: { 'example.com/gpu': limit },
})

const RESOURCES = ['limits', 'requests'].flatMap((list) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${list}.${name}`),
)

const ENV_PATHS = [
  ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName'],
  ...['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'],
]

const SYSCTL = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?'

const SECURITY = [
  ...['Capabilities', 'Privileged', 'SELinuxOptions', 'WindowsOptions', 'RunAsUser', 'RunAsGroup', 'RunAsNonRoot'],
  ...['ReadOnlyRootFilesystem', 'AllowPrivilegeEscalation', 'ProcMount', 'SeccompProfile', 'AppArmorProfile'],
]
const privileged = { ...Object.fromEntries(SECURITY.map((name) => [name, null])), Privileged: true }

const BAD: readonly (readonly [what: string, container: Body, spec: Body, causes: readonly Cause[]])[] = [
  [
    'a port of the host that is not that of the container, on the network of the host',
    { ports: [{ containerPort: 80, hostPort: 8080 }] },
    { hostNetwork: true },
    [invalid(`${CONTAINER}.ports[0].hostPort`, 8080, 'must match `containerPort` when `hostNetwork` is true')],
  ],
  [
    'a port of the host twice',
    { ports: [80, 81].map((containerPort) => ({ containerPort, hostPort: 80 })) },
    {},
    [duplicate(`${CONTAINER}.ports[1].hostPort`, 'TCP//80')],
  ],
  [
    'an ephemeral container',
    {},
    { ephemeralContainers: [{ name: 'e', image: 'x:1' }] },
    [forbidden(`${POD}.ephemeralContainers`, 'ephemeral containers not allowed in pod template')],
  ],
  [
    'a resize policy for a resource that cannot be resized',
    { resizePolicy: [{ resourceName: 'storage', restartPolicy: 'Sometimes' }] },
    {},
    [
      unsupported(`${CONTAINER}.resizePolicy`, 'storage', 'cpu', 'memory'),
      unsupported(`${CONTAINER}.resizePolicy`, 'Sometimes', 'NotRequired', 'RestartContainer'),
    ],
  ],
  [
    'a resize policy twice',
    { resizePolicy: ['NotRequired', 'NotRequired'].map((restartPolicy) => ({ resourceName: 'cpu', restartPolicy })) },
    {},
    [duplicate(`${CONTAINER}.resizePolicy[1]`, 'cpu')],
  ],
  [
    'a claim of a resource that the pod does not have',
    { resources: { claims: [{ name: 'gpu' }] } },
    {},
    [
      [
        `${CONTAINER}.resources.claims[0]`,
        'FieldValueNotFound',
        'Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
      ],
    ],
  ],
  [
    'a claim of another resource than the pod has',
    { resources: { claims: [{ name: 'gpu' }] } },
    { resourceClaims: [{ name: 'tpu', resourceClaimName: 'tpu' }] },
    [
      [
        `${CONTAINER}.resources.claims[0]`,
        'FieldValueNotFound',
        'Not found: "gpu": must be one of the names in pod.spec.resourceClaims: tpu',
      ],
    ],
  ],
  [
    'a token for less than ten minutes',
    mounted({}),
    volume({ projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 599 } }] } }),
    [
      invalid(
        `${POD}.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds`,
        599,
        'may not specify a duration less than 10 minutes',
      ),
    ],
  ],
  [
    'a restart policy of a container that there is not',
    { restartPolicy: 'Sometimes' },
    {},
    [unsupported(`${CONTAINER}.restartPolicy`, 'Sometimes', 'Always', 'Never', 'OnFailure')],
  ],
  [
    'rules of restarts without a restart policy',
    { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
    {},
    [required(`${CONTAINER}.restartPolicy`, 'must specify restartPolicy when restart rules are used')],
  ],
  [
    'a sysctl whose name is none',
    {},
    { securityContext: { sysctls: [{ name: 'Net Core', value: '1' }] } },
    [
      invalid(
        `${POD}.securityContext.sysctls[0].name`,
        'Net Core',
        `must have at most 253 characters and match regex ${SYSCTL}`,
      ),
    ],
  ],
  [
    'a privileged container that may not escalate',
    { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
    {},
    [
      invalid(
        `${CONTAINER}.securityContext`,
        { ...privileged, AllowPrivilegeEscalation: false },
        'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      ),
    ],
  ],
  [
    'a path that leaves its volume',
    mounted({ subPath: 'a/../b' }),
    volume({ emptyDir: {} }),
    [invalid(`${CONTAINER}.volumeMounts.subPath`, 'a/../b', "must not contain '..'")],
  ],
  [
    'an absolute path in a volume',
    mounted({ subPath: '/a' }),
    volume({ emptyDir: {} }),
    [invalid(`${CONTAINER}.volumeMounts.subPath`, '/a', 'must be a relative path')],
  ],
  [
    'a sleep of less than no time',
    { lifecycle: { preStop: { sleep: { seconds: -1 } } } },
    {},
    [
      invalid(
        `${CONTAINER}.lifecycle.preStop.sleep`,
        -1,
        'must be non-negative and less than terminationGracePeriodSeconds (30)',
      ),
    ],
  ],
  [
    'no policy of DNS without a configuration',
    {},
    { dnsPolicy: 'None' },
    [required(`${POD}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None')],
  ],
  [
    'no policy of DNS without name servers',
    {},
    { dnsPolicy: 'None', dnsConfig: { searches: ['a.example'] } },
    [required(`${POD}.dnsConfig.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None')],
  ],
  [
    'a user of Linux in a pod of Windows',
    { securityContext: { runAsUser: 1 } },
    { os: { name: 'windows' }, securityContext: { runAsUser: 1 } },
    [
      forbidden(`${POD}.securityContext.runAsUser`, 'cannot be set for a windows pod'),
      forbidden(`${CONTAINER}.securityContext.runAsUser`, 'cannot be set for a windows pod'),
    ],
  ],
  [
    'an operating system that there is not',
    {},
    { os: { name: 'plan9' } },
    [unsupported(`${POD}.os.name`, 'plan9', 'linux', 'windows')],
  ],
  [
    'a name of a node that is none',
    {},
    { nodeName: 'Node_1' },
    [
      invalid(
        `${POD}.nodeName`,
        'Node_1',
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ),
    ],
  ],
  [
    'a variable of a field that pods do not have',
    fieldRef('metadata.nme'),
    {},
    [
      invalid(
        `${CONTAINER}.env[0].valueFrom.fieldRef.fieldPath`,
        'metadata.nme',
        'error converting fieldPath: field label not supported: metadata.nme',
      ),
    ],
  ],
  [
    'a variable of a field that variables cannot have',
    fieldRef('status.phase'),
    {},
    [unsupported(`${CONTAINER}.env[0].valueFrom.fieldRef.fieldPath`, 'status.phase', ...ENV_PATHS)],
  ],
  [
    'a file of a field that files cannot have',
    mounted({}),
    volume({ downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'status.podIP' } }] } }),
    [
      unsupported(
        `${POD}.volumes[0].downwardAPI.items[0].fieldRef.fieldPath`,
        'status.podIP',
        ...['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'],
      ),
    ],
  ],
  [
    'a variable of a resource that containers do not have',
    resourceRef({ resource: 'cpu' }),
    {},
    [unsupported(`${CONTAINER}.env[0].valueFrom.resourceFieldRef.resource`, 'cpu', ...RESOURCES)],
  ],
  [
    'a file of a resource of no container',
    mounted({}),
    volume({ downwardAPI: { items: [{ path: 'a', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
    [required(`${POD}.volumes[0].downwardAPI.items[0].resourceFieldRef.containerName`)],
  ],
  [
    'variables from nowhere',
    { envFrom: [{}] },
    {},
    [invalid(`${CONTAINER}.envFrom`, '', 'must specify one of: `configMapRef` or `secretRef`')],
  ],
  [
    'variables from two objects at once, one of which has no name',
    { envFrom: [{ configMapRef: {}, secretRef: { name: 's' } }] },
    {},
    [
      required(`${CONTAINER}.envFrom[0].configMapRef.name`),
      invalid(`${CONTAINER}.envFrom`, '', 'may not have more than one field specified at a time'),
    ],
  ],
  [
    'half a device',
    { resources: device('500m', '500m') },
    {},
    ['limits', 'requests'].map((list) =>
      invalid(`${CONTAINER}.resources.${list}[example.com/gpu]`, '500m', 'must be an integer'),
    ),
  ],
  [
    'a device without a limit',
    { resources: { requests: { 'example.com/gpu': 1 } } },
    {},
    [required(`${CONTAINER}.resources.limits`, 'Limit must be set for non overcommitable resources')],
  ],
  [
    'fewer devices than it is limited to',
    { resources: device('1', '2') },
    {},
    [invalid(`${CONTAINER}.resources.requests`, '1', 'must be equal to example.com/gpu limit of 2')],
  ],
  [
    'a time to end of what is only not ready',
    { readinessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 5 } },
    {},
    [invalid(`${CONTAINER}.readinessProbe.terminationGracePeriodSeconds`, 5, 'must not be set for readinessProbes')],
  ],
  [
    'a claim of neither name',
    {},
    { resourceClaims: [{ name: 'a' }] },
    [
      invalid(
        `${POD}.resourceClaims[0]`,
        { Name: 'a', ResourceClaimName: null, ResourceClaimTemplateName: null },
        'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ),
    ],
  ],
  [
    'a process of a Windows host on another network, beside a container',
    { securityContext: { windowsOptions: { hostProcess: true } } },
    { initContainers: [{ name: 'i', image: 'x:1' }] },
    [
      invalid(POD, '', 'If pod contains any hostProcess containers then all containers must be HostProcess containers'),
      invalid(`${POD}.hostNetwork`, false, 'hostNetwork must be true if pod contains any hostProcess containers'),
    ],
  ],
  [
    'an alias of no address',
    {},
    { hostAliases: [{ ip: 'x', hostnames: ['a.b'] }] },
    [invalid(`${POD}.hostAliases[0].ip`, 'x', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')],
  ],
]

test.each(BAD)('a template is refused with %s', (_, container, spec, causes) => {
  const { status, object } = createClient().post(DEPLOYMENTS, template(podSpec(container, spec)))
  expect([status, object.reason, causesOf(object)]).toEqual([422, 'Invalid', causes])
})

test('a pod is refused that is created with ephemeral containers', () => {
  const spec = podSpec({}, { ephemeralContainers: [{ name: 'e', image: 'x:1' }] })
  const { status, object } = createClient().post(PODS, { metadata: { name: 'a' }, spec })
  expect([status, causesOf(object)]).toEqual([422, [forbidden('spec.ephemeralContainers', 'cannot be set on create')]])
})

test.each<[what: string, container: Body, spec: Body]>([
  ['ports on the network of the host', { ports: [{ containerPort: 80 }] }, { hostNetwork: true }],
  ['a resize policy', { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }, {}],
  [
    'a claim that it has',
    { resources: { claims: [{ name: 'a' }] } },
    { resourceClaims: [{ name: 'a', resourceClaimName: 'a' }] },
  ],
  ['a sysctl with a slash', {}, { securityContext: { sysctls: [{ name: 'net/ipv4.a', value: '1' }] } }],
  ['a path below its volume', mounted({ subPath: 'a/..b' }), volume({ emptyDir: {} })],
  ['no sleep', { lifecycle: { preStop: { sleep: { seconds: 0 } } } }, {}],
  ['name servers of its own', {}, { dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'] } }],
  ['an image with a space at its end, as templates may', { image: 'x:1 ' }, {}],
  ['as many of a device as it is limited to', { resources: device('2', '2') }, {}],
  ['a variable of huge pages', resourceRef({ resource: 'limits.hugepages-2Mi' }), {}],
  ['a variable of a label', fieldRef("metadata.labels['app']"), {}],
  ['an init container that stays', {}, { initContainers: [{ name: 'i', image: 'x:1', restartPolicy: 'Always' }] }],
])('a template is taken with %s', (_, container, spec) => {
  const { status, object } = createClient().post(DEPLOYMENTS, template(podSpec(container, spec)))
  expect([status, object.message]).toEqual([201, undefined])
})
