import { diffArrays } from 'diff'
import pMap from 'p-map'
import { stringify } from 'yaml'
import type { Files } from './archive.ts'
import { SETTINGS, withSettings } from './chart-values.ts'
import { type Component, type Rendered, render } from './kustomize.ts'

/** Stand for what Helm fills in. */
const NAMESPACE = 'release-namespace'
const IMAGE = 'release-image'
const JUJU_IMAGE = 'release-juju'

const BROKER = 'broker-'

/** The components of what is released: senders are checked, and nothing beyond the namespace may be written. */
export const DEFAULTS: readonly string[] = ['authentication']

const isBroker = (name: string): boolean => name.startsWith(BROKER)

/** The broker is one, so two of them are never together. */
const goTogether = (one: string, other: string): boolean => one !== other && !(isBroker(one) && isBroker(other))

const conditionOf = (name: string): string =>
  isBroker(name) ? `eq .Values.broker "${name.slice(BROKER.length)}"` : `.Values.components.${name}`

/** Texts of objects by key, of one choice of components. */
type Choice = ReadonlyMap<string, string>

const keyOf = ({ kind, name }: Rendered): string => `${kind}-${name.replace(`-${NAMESPACE}`, '')}`.toLowerCase()

/** The text of an object as a template. Throws for one that Helm would take for instructions. */
const templated = (text: string): string => {
  if (text.includes('{{')) throw new Error(`A manifest has {{, which Helm would execute:\n${text}`)
  return text
    .replaceAll(new RegExp(`(: |- )${NAMESPACE}$`, 'gm'), '$1"{{ .Release.Namespace }}"')
    .replaceAll(NAMESPACE, '{{ .Release.Namespace }}')
    .replaceAll(new RegExp(`(: )${IMAGE}$`, 'gm'), '$1"{{ .Values.image }}"')
    .replaceAll(new RegExp(`(: )${JUJU_IMAGE}$`, 'gm'), '$1"{{ .Values.jujuImage }}"')
}

const createRenderer = (order: readonly string[]) => {
  const choices = new Map<string, Promise<Choice>>()
  const renderOnce = async (components: readonly string[]): Promise<Choice> => {
    const objects = await render({ namespace: NAMESPACE, image: IMAGE, jujuImage: JUJU_IMAGE, components })
    return new Map(objects.map((object) => [keyOf(object), withSettings(object.kind, templated(object.text))]))
  }
  return (chosen: readonly string[]): Promise<Choice> => {
    const components = order.filter((name) => chosen.includes(name))
    const key = components.join()
    const choice = choices.get(key) ?? renderOnce(components)
    choices.set(key, choice)
    return choice
  }
}

type Choose = ReturnType<typeof createRenderer>

/** The lines of a template. Lines between instructions that belong together are one, so that no instruction is torn from its end. */
const unitsOf = (template: string): string[] => {
  const units: string[] = []
  let depth = 0
  for (const line of template.split(/(?<=\n)/).filter((one) => one !== '')) {
    if (depth === 0) units.push(line)
    else units[units.length - 1] += line
    if (/^\{\{- (if|range) /.test(line)) depth += 1
    if (line.startsWith('{{- end ')) depth -= 1
  }
  return units
}

/** Wraps what a component changes in an object into its conditions: the lines that differ, and no others. */
const wrap = (name: string, on: string, off: string): string => {
  const condition = conditionOf(name)
  const hunks = diffArrays(unitsOf(off), unitsOf(on))
  return hunks
    .map(({ added, removed, value }, index) => {
      const lines = value.join('')
      if (removed) {
        const next = hunks[index + 1]
        return next?.added
          ? `{{- if ${condition} }}\n${next.value.join('')}{{- else }}\n${lines}{{- end }}\n`
          : `{{- if not (${condition}) }}\n${lines}{{- end }}\n`
      }
      if (!added) return lines
      return hunks[index - 1]?.removed ? '' : `{{- if ${condition} }}\n${lines}{{- end }}\n`
    })
    .join('')
}

const templateOf = async (
  key: string,
  toggles: readonly string[],
  choose: Choose,
  chosen: readonly string[] = [],
): Promise<string> => {
  const [first, ...rest] = toggles
  if (first === undefined) return (await choose(chosen)).get(key) ?? ''
  const compatible = rest.filter((name) => goTogether(name, first))
  const on = await templateOf(key, compatible, choose, [...chosen, first])
  return wrap(first, on, await templateOf(key, rest, choose, chosen))
}

/**
 * The templates of all objects, by file: each is rendered with the components that change it, on and off. A component changes an object
 * when it does so alone or beside one other.
 */
const templatesOf = async (order: readonly string[]): Promise<Files> => {
  const choose = createRenderer(order)
  const contexts = order.flatMap((one) =>
    [[], ...order.filter((other) => goTogether(one, other)).map((other) => [other])].map((beside) => ({ one, beside })),
  )
  const compared = await pMap(
    contexts,
    async ({ one, beside }) => ({ one, with: await choose([...beside, one]), without: await choose(beside) }),
    { concurrency: 2 },
  )
  const keys = [...new Set(compared.flatMap((each) => [...each.with.keys(), ...each.without.keys()]))].toSorted()
  const templates = await pMap(
    keys,
    async (key) => {
      const changes = compared.filter((each) => each.with.get(key) !== each.without.get(key)).map(({ one }) => one)
      const toggles = order.filter((name) => changes.includes(name))
      return [`templates/${key}.yaml`, await templateOf(key, toggles, choose)] as const
    },
    { concurrency: 2 },
  )
  return Object.fromEntries(templates)
}

export type ChartOptions = {
  readonly version: string
  readonly description: string
  readonly image: string
  readonly components: readonly Component[]
}

type Property = { readonly description: string; readonly [key: string]: unknown }

/** The schema of the values, from which their file is written as well. */
const schemaOf = ({ image, components }: Pick<ChartOptions, 'image' | 'components'>) => {
  const brokers = components.filter(({ name }) => isBroker(name))
  const toggles = components.filter(({ name }) => !isBroker(name))
  const properties: Record<string, Property> = {
    image: { description: 'The image, with a tag or a digest.', type: 'string', minLength: 1, default: image },
    jujuImage: {
      description:
        'The image of components.juju, which nobody publishes: knative/components/juju/Dockerfile builds it.',
      type: 'string',
      minLength: 1,
      default: 'meshstep-juju',
    },
    broker: {
      description: [
        "default: the cluster's own.",
        ...brokers.map(({ name, description }) => `${name.slice(BROKER.length)}: ${description}`),
      ].join(' '),
      enum: ['default', ...brokers.map(({ name }) => name.slice(BROKER.length))],
      default: 'default',
    },
    components: {
      description: 'What comes on top of the base.',
      type: 'object',
      additionalProperties: false,
      required: toggles.map(({ name }) => name),
      properties: Object.fromEntries(
        toggles.map(({ name, description }) => [
          name,
          { description, type: 'boolean', default: DEFAULTS.includes(name) },
        ]),
      ),
    },
    ...SETTINGS,
    global: { description: 'Helm gives it to every chart.', type: 'object' },
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    // Helm takes a value that is set to null out before it looks
    required: ['image', 'jujuImage', 'broker', 'components', ...Object.keys(SETTINGS)],
    properties,
  }
}

const commented = (name: string, { description, default: value }: Property, indent = ''): string =>
  `${indent}# ${description}\n${indent}${name}: ${JSON.stringify(value)}\n`

const valuesOf = ({ properties }: ReturnType<typeof schemaOf>): string => {
  const { image, jujuImage, broker, components } = properties as Record<
    'image' | 'jujuImage' | 'broker' | 'components',
    Property
  >
  const settings = Object.entries(SETTINGS).map(([name, property]) => commented(name, property))
  const toggles = Object.entries(components.properties as Record<string, Property>)
  return [
    commented('image', image),
    commented('jujuImage', jujuImage),
    commented('broker', broker),
    'components:\n',
    ...toggles.map(([name, property]) => commented(name, property, '  ')),
    ...settings,
  ].join('')
}

const readmeOf = ({ properties }: ReturnType<typeof schemaOf>): string => {
  const rows = Object.entries(properties).flatMap(([name, property]) => {
    const inner = Object.entries((name === 'components' ? property.properties : {}) as Record<string, Property>)
    const own = inner.length > 0 ? [] : [[name, property] as const]
    return [...own, ...inner.map(([key, one]) => [`${name}.${key}`, one] as const)]
  })
  const lines = rows
    .filter(([name]) => name !== 'global')
    .map(
      ([name, { description, default: value }]) =>
        `| \`${name}\` | ${description.replaceAll('|', '\\|')} | \`${JSON.stringify(value)}\` |`,
    )
  return `# meshstep\n\nThe namespace is that of the release.\n\n| value | is | default |\n| --- | --- | --- |\n${lines.join('\n')}\n`
}

const NOTES = `meshstep is in the namespace {{ .Release.Namespace }}.

What its cluster lacks, and what is not ready:
  kubectl meshstep check --namespace {{ .Release.Namespace }}
{{- if not (.Values.components.functions) }}
That the functions answer:
  helm test {{ .Release.Name }} --namespace {{ .Release.Namespace }}
{{- end }}
`

/** Asks the functions, through Knative, if they are ready: https://helm.sh/docs/topics/chart_tests/ */
const READY_TEST = `{{- if not (.Values.components.functions) }}
apiVersion: v1
kind: Pod
metadata:
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
  name: meshstep-test
  namespace: "{{ .Release.Namespace }}"
spec:
{{- if .Values.imagePullSecrets }}
  imagePullSecrets: {{ toJson .Values.imagePullSecrets }}
{{- end }}
  containers:
  - args:
    - -e
    - "fetch('http://meshstep.{{ .Release.Namespace }}.svc/health/readiness').then((answer) => process.exit(Number(!answer.ok)))"
    command:
    - node
    image: "{{ .Values.image }}"
    name: test
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
      runAsNonRoot: true
      runAsUser: 1000
      seccompProfile:
        type: RuntimeDefault
  restartPolicy: Never
{{- end }}
`

/** A Helm chart out of the manifests of `knative/`, by path: each object is as kustomize renders it, whatever components are chosen. */
export const createChart = async (options: ChartOptions): Promise<Files> => {
  const { version, description, components } = options
  const schema = schemaOf(options)
  const chart = {
    ...{ apiVersion: 'v2', name: 'meshstep', description, type: 'application', version, appVersion: version },
    kubeVersion: '>=1.30.0-0',
    keywords: ['istio', 'ambient', 'knative', 'cloudevents'],
  }
  return {
    'Chart.yaml': stringify(chart),
    'values.yaml': valuesOf(schema),
    'values.schema.json': `${JSON.stringify(schema, null, 2)}\n`,
    'README.md': readmeOf(schema),
    'templates/NOTES.txt': NOTES,
    'templates/tests/functions-ready.yaml': READY_TEST,
    ...(await templatesOf(components.map(({ name }) => name))),
  }
}
