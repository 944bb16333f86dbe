import * as z from 'zod'

const Labels = z.record(z.string(), z.string()).default({})

export const KubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    labels: Labels,
    annotations: Labels,
  }),
})
export type KubeObject = z.infer<typeof KubeObject>

const Ref = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string() })
export type Ref = z.infer<typeof Ref>
const Destination = z.object({ ref: Ref, audience: z.string().optional() })

const kind = <Version extends string, Kind extends string, Rest extends z.ZodRawShape>(
  apiVersion: Version,
  name: Kind,
  rest: Rest,
) => KubeObject.extend({ apiVersion: z.literal(apiVersion), kind: z.literal(name), ...rest })

const Probe = z.object({ httpGet: z.object({ path: z.string() }) })

export const KnativeService = kind('serving.knative.dev/v1', 'Service', {
  spec: z.object({
    template: z.object({
      metadata: z.object({ annotations: Labels, labels: Labels }),
      spec: z.looseObject({
        serviceAccountName: z.string(),
        containerConcurrency: z.number(),
        timeoutSeconds: z.number(),
        responseStartTimeoutSeconds: z.number(),
        containers: z.tuple([
          z.object({
            image: z.string(),
            args: z.array(z.string()).default([]),
            command: z.array(z.string()),
            env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
            ports: z.array(z.object({ containerPort: z.number() })),
            readinessProbe: Probe,
            livenessProbe: Probe,
            resources: z.object({ requests: Labels, limits: Labels }),
            securityContext: z.record(z.string(), z.unknown()),
          }),
        ]),
      }),
    }),
  }),
})

export type Filter = {
  exact?: Record<string, string> | undefined
  prefix?: Record<string, string> | undefined
  suffix?: Record<string, string> | undefined
  all?: Filter[] | undefined
  any?: Filter[] | undefined
  not?: Filter | undefined
}

const Attributes = z.record(z.string(), z.string().min(1))
export const Filter: z.ZodType<Filter> = z
  .strictObject({
    exact: Attributes.optional(),
    prefix: Attributes.optional(),
    suffix: Attributes.optional(),
    all: z
      .array(z.lazy(() => Filter))
      .min(1)
      .optional(),
    any: z
      .array(z.lazy(() => Filter))
      .min(1)
      .optional(),
    not: z.lazy(() => Filter).optional(),
  })
  .refine((filter) => Object.keys(filter).length === 1, 'expected exactly one dialect')

export const Trigger = kind('eventing.knative.dev/v1', 'Trigger', {
  spec: z.object({
    broker: z.string(),
    filters: z.array(Filter).min(1),
    subscriber: Destination,
    delivery: z.object({
      retry: z.number(),
      backoffPolicy: z.string(),
      backoffDelay: z.string(),
      timeout: z.string(),
      deadLetterSink: Destination,
    }),
  }),
})

export const Broker = kind('eventing.knative.dev/v1', 'Broker', {})

export const ApiServerSource = kind('sources.knative.dev/v1', 'ApiServerSource', {
  spec: z.object({
    mode: z.literal('Resource'),
    serviceAccountName: z.string(),
    resources: z.tuple([
      z.object({ apiVersion: z.string(), kind: z.string(), selector: z.record(z.string(), z.unknown()) }),
    ]),
    ceOverrides: z.object({ extensions: Labels }).default({ extensions: {} }),
    sink: Destination,
  }),
})

export const PingSource = kind('sources.knative.dev/v1', 'PingSource', { spec: z.object({ sink: Destination }) })

export const SinkBinding = kind('sources.knative.dev/v1', 'SinkBinding', {
  spec: z.object({
    subject: z.object({
      apiVersion: z.string(),
      kind: z.string(),
      selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    }),
    sink: Destination,
  }),
})

const JobContainer = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  resources: z.object({ requests: Labels, limits: Labels }),
  securityContext: z.record(z.string(), z.unknown()),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
})

export const CronJob = kind('batch/v1', 'CronJob', {
  spec: z.strictObject({
    schedule: z.string(),
    concurrencyPolicy: z.literal('Forbid'),
    startingDeadlineSeconds: z.number(),
    successfulJobsHistoryLimit: z.number(),
    failedJobsHistoryLimit: z.number(),
    jobTemplate: z.object({
      spec: z.strictObject({
        backoffLimit: z.literal(0),
        activeDeadlineSeconds: z.number(),
        template: z.object({
          spec: z.strictObject({
            serviceAccountName: z.string(),
            restartPolicy: z.literal('Never'),
            securityContext: z.record(z.string(), z.unknown()),
            initContainers: z.tuple([JobContainer]),
            containers: z.tuple([JobContainer]),
            volumes: z.array(z.looseObject({ name: z.string() })),
          }),
        }),
      }),
    }),
  }),
})

export const ServiceAccount = kind('v1', 'ServiceAccount', {})

const rules = z.array(
  z.strictObject({
    apiGroups: z.array(z.string()),
    resources: z.array(z.string()),
    resourceNames: z.array(z.string()).optional(),
    verbs: z.array(z.string()),
  }),
)
export const Role = kind('rbac.authorization.k8s.io/v1', 'Role', { rules })
export type Role = z.infer<typeof Role>
export const ClusterRole = kind('rbac.authorization.k8s.io/v1', 'ClusterRole', { rules })

const binding = {
  roleRef: z.strictObject({ apiGroup: z.literal('rbac.authorization.k8s.io'), kind: z.string(), name: z.string() }),
  subjects: z.array(z.strictObject({ kind: z.literal('ServiceAccount'), name: z.string(), namespace: z.string() })),
}
export const RoleBinding = kind('rbac.authorization.k8s.io/v1', 'RoleBinding', binding)
export type RoleBinding = z.infer<typeof RoleBinding>
export const ClusterRoleBinding = kind('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', binding)

const Named = z.strictObject({ name: z.string(), expression: z.string() })

export const ValidatingAdmissionPolicy = kind('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', {
  spec: z.strictObject({
    failurePolicy: z.string(),
    matchConstraints: z.strictObject({ resourceRules: z.array(z.record(z.string(), z.array(z.string()))) }),
    matchConditions: z.array(Named),
    variables: z.array(Named),
    validations: z.array(
      z.strictObject({ expression: z.string(), reason: z.literal('Forbidden'), messageExpression: z.string() }),
    ),
  }),
})

export const ValidatingAdmissionPolicyBinding = kind(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicyBinding',
  {
    spec: z.strictObject({
      policyName: z.string(),
      validationActions: z.array(z.string()),
      matchResources: z.strictObject({ namespaceSelector: z.strictObject({ matchLabels: Labels }) }),
    }),
  },
)

export const EventPolicy = kind('eventing.knative.dev/v1alpha1', 'EventPolicy', {
  spec: z.strictObject({
    to: z.tuple([z.strictObject({ ref: Ref })]),
    from: z.array(z.strictObject({ sub: z.string() })),
  }),
})

const Peers = z.array(z.record(z.string(), z.unknown())).min(1)
const Ports = z.array(z.strictObject({ protocol: z.string(), port: z.number() })).min(1)

export const NetworkPolicy = kind('networking.k8s.io/v1', 'NetworkPolicy', {
  spec: z.strictObject({
    podSelector: z.strictObject({ matchLabels: Labels }),
    policyTypes: z.array(z.string()),
    ingress: z.array(z.strictObject({ from: Peers, ports: Ports })),
    egress: z.array(z.strictObject({ to: Peers, ports: Ports })),
  }),
})

type Kind = z.ZodObject<{ apiVersion: z.ZodLiteral<string>; kind: z.ZodLiteral<string> }>

/** The objects of one kind; one that lacks what the tests rely on fails here. */
export const all = <Shape extends Kind>(objects: readonly KubeObject[], shape: Shape): z.infer<Shape>[] =>
  objects
    .filter(({ apiVersion, kind }) => apiVersion === shape.shape.apiVersion.value && kind === shape.shape.kind.value)
    .map((object) => shape.parse(object) as z.infer<Shape>)

export const functionServices = (objects: readonly KubeObject[]) =>
  all(objects, KnativeService).filter(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'function')
