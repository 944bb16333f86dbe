type Body = Record<string, unknown>

/** A pod spec with one container, with changes to the container and to the spec. */
const pod = (container: Body = {}, spec: Body = {}): Body => ({
  podSpec: { containers: [{ name: 'web', image: 'example.invalid/web:1', ...container }], ...spec },
})

const CLAIM = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

/** What is wrong, the workload, and what its sender is told. */
type BadSpec = readonly [name: string, workload: Body, told: RegExp]

/** Workloads that meshstep refuses, or that no schema has. */
export const BAD_SPECS: readonly BadSpec[] = [
  [
    'a misspelt field of the pod',
    pod({}, { hostnetwork: true }),
    /^data\.config\.workload\.podSpec\.hostnetwork: field not declared in schema \(did you mean hostNetwork\?\)/,
  ],
  [
    'a misspelt field of a container',
    pod({ livenesProbe: { httpGet: { port: 80 } } }),
    /podSpec\.containers\.0\.livenesProbe: field not declared in schema \(did you mean livenessProbe\?\)/,
  ],
  [
    'a misspelt field further down',
    pod({ livenessProbe: { httpGet: { port: 80, pth: '/' } } }),
    /podSpec\.containers\.0\.livenessProbe\.httpGet\.pth: field not declared in schema \(did you mean path\?\)/,
  ],
  ['a text for a list', pod({ command: 'sh' }), /containers\.0\.command: expected list, got .*write a list: \["sh"\]/],
  ['a number for a text', pod({ workingDir: 1 }), /containers\.0\.workingDir: expected string, got .*quote it: "1"/],
  [
    'a text for a number',
    pod({}, { terminationGracePeriodSeconds: '30' }),
    /podSpec\.terminationGracePeriodSeconds: expected numeric .*write a number: 30/,
  ],
  ['a text for a truth value', pod({ tty: 'yes' }), /containers\.0\.tty: expected boolean, .*true or false/],
  ['a list for an object', pod({ resources: ['cpu'] }), /containers\.0\.resources: expected map, .*key by key/],
  [
    'a word for a quantity',
    pod({ resources: { limits: { cpu: 'lots' } } }),
    /quantities must match .*podSpec\.containers\.0\.resources\.limits\.cpu: "lots"; a quantity is a number/,
  ],
  [
    'two secrets of one name to pull by',
    pod({}, { imagePullSecrets: [{ name: 'a' }, { name: 'a' }] }),
    /podSpec\.imagePullSecrets: duplicate entries for key \[name="a"\] \(each may appear once\)/,
  ],
  [
    'a fraction of a second',
    pod({ livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 1.5 } }),
    /^data\.config\.workload\.podSpec\.containers\.0\.livenessProbe\.initialDelaySeconds: expected an integer .*got 1\.5$/,
  ],
  [
    'a number of more than 32 bits',
    pod({ livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 2 ** 32 } }),
    /containers\.0\.livenessProbe\.initialDelaySeconds: expected an integer of at most 2147483647/,
  ],
  [
    'a fraction of a pod',
    { ...pod(), strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0.5 } } },
    /^data\.config\.workload\.strategy\.rollingUpdate\.maxSurge: expected an integer/,
  ],
  [
    'an image that begins with a space',
    pod({ image: ' example.invalid/web:1' }),
    /podSpec\.containers\.0\.image: expected an image without spaces, got " example/,
  ],
  [
    'a port twice in the Service',
    { ...pod(), service: { ports: [{ port: 80 }, { port: 80, name: 'b' }] } },
    /^data\.config\.workload\.service\.ports\.1: duplicate port 80\/TCP/,
  ],
  [
    'two ports of one name in the Service',
    { ...pod(), service: { ports: [{ port: 80 }, { port: 80, protocol: 'UDP' }] } },
    /^data\.config\.workload\.service\.ports\.1: duplicate name "port-80"/,
  ],
  ['two variables of one name', pod({ env: [{ name: 'A' }, { name: 'A' }] }), /containers\.0\.env\.1: .*"A"/],
  [
    'a container without an image',
    { podSpec: { containers: [{ name: 'web' }] } },
    /containers\.0\.image: expected an image/,
  ],
  [
    'a mount of a volume that is not there',
    pod({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
    /containers\.0\.volumeMounts\.0\.name: no volume "data"/,
  ],
  ['a port that is none', pod({ ports: [{ containerPort: 70_000 }] }), /ports\.0\.containerPort: expected a port/],
  ['pods that are not restarted', pod({}, { restartPolicy: 'Never' }), /podSpec\.restartPolicy: expected Always/],
]

/** Workloads that break rules of an API server beyond its schemas. */
export const UNRULY_SPECS: readonly BadSpec[] = [
  [
    'a value that is none of a few',
    pod({ imagePullPolicy: 'Sometimes' }),
    /containers\.0\.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always"/,
  ],
  [
    'seconds before there were any',
    pod({ livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: -1 } }),
    /livenessProbe\.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0/,
  ],
  [
    'an init container that is to become ready',
    pod({}, { initContainers: [{ name: 'first', image: 'x', readinessProbe: { tcpSocket: { port: 80 } } }] }),
    /initContainers\.0\.readinessProbe: Forbidden: may not be set for init containers/,
  ],
  [
    'a request beyond its limit',
    pod({ resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } }),
    /containers\.0\.resources\.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi/,
  ],
  [
    'a port of the host that is not that of the container, on the network of the host',
    pod({ ports: [{ containerPort: 80, hostPort: 8080 }] }, { hostNetwork: true }),
    /containers\.0\.ports\.0\.hostPort: Invalid value: 8080: must match `containerPort` when `hostNetwork` is true/,
  ],
  [
    'containers that somebody adds to a running pod',
    pod({}, { ephemeralContainers: [{ name: 'debug', image: 'x:1' }] }),
    /podSpec\.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template/,
  ],
  [
    'a resize policy that is none of a few',
    pod({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'Sometimes' }] }),
    /containers\.0\.resizePolicy: Unsupported value: "Sometimes": supported values: "NotRequired", "RestartContainer"/,
  ],
  [
    'a claim of a resource that the pod does not have',
    pod({ resources: { claims: [{ name: 'gpu' }] } }),
    /containers\.0\.resources\.claims\.0: Not found: "gpu": must be one of the names in pod\.spec\.resourceClaims/,
  ],
  [
    'a token for less than ten minutes',
    pod(
      {},
      {
        volumes: [
          { name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 60 } }] } },
        ],
      },
    ),
    /expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes/,
  ],
  [
    'a restart policy of a container that is none of a few',
    pod({ restartPolicy: 'Sometimes' }),
    /containers\.0\.restartPolicy: /,
  ],
  [
    'a sysctl whose name is none',
    pod({}, { securityContext: { sysctls: [{ name: 'Net Core', value: '1' }] } }),
    /securityContext\.sysctls\.0\.name: Invalid value: "Net Core": must have at most 253 characters and match regex/,
  ],
  [
    'a privileged container that may not escalate',
    pod({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    /containers\.0\.securityContext: Invalid value: .*cannot set `allowPrivilegeEscalation` to false and `privileged` to true/,
  ],
  [
    'a path that leaves its volume',
    pod(
      { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: '../a' }] },
      { volumes: [{ name: 'v', emptyDir: {} }] },
    ),
    /containers\.0\.volumeMounts\.subPath: Invalid value: "\.\.\/a": must not contain '\.\.'/,
  ],
  [
    'a sleep of less than no time',
    pod({ lifecycle: { preStop: { sleep: { seconds: -1 } } } }),
    /containers\.0\.lifecycle\.preStop\.sleep: Invalid value: -1: must be non-negative/,
  ],
  [
    'no policy of DNS without name servers',
    pod({}, { dnsPolicy: 'None' }),
    /podSpec\.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None/,
  ],
  [
    'a user of Linux in a pod of Windows',
    pod({}, { os: { name: 'windows' }, securityContext: { runAsUser: 1 } }),
    /podSpec\.securityContext\.runAsUser: Forbidden: cannot be set for a windows pod/,
  ],
  [
    'a name of a node that is none',
    pod({}, { nodeName: 'Node_1' }),
    /podSpec\.nodeName: Invalid value: "Node_1": a lowercase RFC 1123 subdomain/,
  ],
  [
    'a variable of a field that pods do not have',
    pod({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.nme' } } }] }),
    /valueFrom\.fieldRef\.fieldPath: Invalid value: "metadata\.nme": error converting fieldPath: field label not supported/,
  ],
  [
    'a claim without room',
    {
      ...pod({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
      deployment: { type: 'stateful' },
      volumeClaimTemplates: [{ ...CLAIM, spec: { accessModes: ['ReadWriteOnce'] } }],
    },
    /workload\.volumeClaimTemplates\.0\.spec\.resources\.storage: Required value/,
  ],
]

/** A workload that every API server takes, with storage of this size. */
export const goodSpec = (image = 'example.invalid/web:1', storage?: string): Body => ({
  ...pod({ image }),
  replicas: 0,
  ...(storage && {
    deployment: { type: 'stateful' },
    volumeClaimTemplates: [{ ...CLAIM, spec: { ...CLAIM.spec, resources: { requests: { storage } } } }],
  }),
})
