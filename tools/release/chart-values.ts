/** What a user of the chart may set of each object, beside the image and the components. */
export const SETTINGS = {
  env: {
    description: 'More environment variables of the functions, as in a pod: docs/operations.md has them.',
    type: 'array',
    items: { type: 'object', required: ['name'] },
    default: [],
  },
  prometheus: {
    description: 'The address of a Prometheus of the mesh, for traffic and proposals.',
    type: 'string',
    default: '',
  },
  otlp: { description: 'The address of a receiver of traces and metrics over OTLP.', type: 'string', default: '' },
  resources: {
    description: 'Requests and limits of the functions in place of those of the manifests.',
    type: 'object',
    default: {},
  },
  scaling: {
    description: 'Pods of the functions at most, and events at once in each of them; 0 is as in the manifests.',
    type: 'object',
    additionalProperties: false,
    required: ['max', 'concurrency'],
    properties: { max: { type: 'integer', minimum: 0 }, concurrency: { type: 'integer', minimum: 0 } },
    default: { max: 0, concurrency: 0 },
  },
  delivery: {
    description:
      'How a Trigger delivers, in place of what the manifests say: https://knative.dev/docs/eventing/event-delivery/',
    type: 'object',
    default: {},
  },
  imagePullSecrets: {
    description: 'Secrets for the registry of the image.',
    type: 'array',
    items: { type: 'object', required: ['name'] },
    default: [],
  },
  nodeSelector: {
    description: 'Labels of nodes for the pods, where Knative allows them.',
    type: 'object',
    default: {},
  },
  tolerations: {
    description: 'Taints of nodes that the pods bear, where Knative allows them.',
    type: 'array',
    default: [],
  },
  serviceAccountAnnotations: { description: 'Annotations of all accounts.', type: 'object', default: {} },
} as const

/** Instructions around lines that take the place of others where a value is set. */
const replaced = (value: string, line: string, lines: string): string =>
  `{{- if .Values.${value} }}\n${line}\n{{- else }}\n${lines}{{- end }}\n`

const added = (value: string, line: string): string => `{{- if .Values.${value} }}\n${line}\n{{- end }}\n`

/** Environment variables that a value stands for. */
const VARIABLES = { prometheus: 'PROMETHEUS_URL', otlp: 'OTEL_EXPORTER_OTLP_ENDPOINT' } as const

const variables = (indent: string): string =>
  [
    ...Object.entries(VARIABLES).map(([value, name]) =>
      added(value, `${indent}- { name: ${name}, value: {{ toJson .Values.${value} }} }`),
    ),
    `{{- range .Values.env }}\n${indent}- {{ toJson . }}\n{{- end }}\n`,
  ].join('')

/** Gives the text of an object what a user may set of it. An object of another kind stays as it is. */
export const withSettings = (kind: string, text: string): string => {
  if (kind === 'ServiceAccount')
    return text.replace(
      /^metadata:\n/m,
      `$&${added('serviceAccountAnnotations', '  annotations: {{ toJson .Values.serviceAccountAnnotations }}')}`,
    )
  if (kind === 'Trigger')
    return text.replace(/^ {2}delivery:\n(?: {4}.*\n)+/m, (lines) =>
      replaced('delivery', '  delivery: {{ toJson .Values.delivery }}', lines),
    )
  return kind === 'Service' && text.includes('serving.knative.dev') ? ofFunction(text) : text
}

const ofFunction = (text: string): string =>
  text
    .replace(/^ {8}env:\n(?: {8}[- ] .*\n)+/m, (lines) => lines + variables('        '))
    .replace(/^ {8}image: .*\n/m, (line) =>
      text.includes('\n        env:\n') ? line : `        env:\n${variables('        ')}${line}`,
    )
    .replace(/^ {8}resources:\n(?: {10}.*\n)+/m, (lines) =>
      replaced('resources', '        resources: {{ toJson .Values.resources }}', lines),
    )
    .replace(/^ {8}autoscaling\.knative\.dev\/max-scale: .*\n/m, (line) =>
      replaced('scaling.max', '        autoscaling.knative.dev/max-scale: "{{ int .Values.scaling.max }}"', line),
    )
    .replace(/^ {6}containerConcurrency: .*\n/m, (line) =>
      replaced('scaling.concurrency', '      containerConcurrency: {{ int .Values.scaling.concurrency }}', line),
    )
    .replace(/^ {4}spec:\n/m, (line) =>
      ['imagePullSecrets', 'nodeSelector', 'tolerations'].reduce(
        (all, name) => all + added(name, `      ${name}: {{ toJson .Values.${name} }}`),
        line,
      ),
    )
