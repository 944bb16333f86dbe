import { nearestName } from '../../platform/base/nearest-name.ts'
import { jsonOrText } from '../../platform/base/structured-text.ts'
import type { ApiError } from '../../platform/kubernetes/api-error.ts'
import { FIELD_NAMES } from '../../platform/kubernetes/pod-field-names.ts'

/** A problem that the API server found, and its path in the object. */
type Finding = { readonly path: string; readonly why: string }

/** A place in the config, and its value. */
type Place = { readonly path: string; readonly value: unknown }

/** The path in the object for each part of the config's `workload`. The first match counts. */
const PARTS: readonly (readonly [prefix: string, key: string])[] = [
  ['spec.template.spec', 'podSpec'],
  ['spec.template.labels', 'podMetadata.labels'],
  ['spec.template.metadata.labels', 'podMetadata.labels'],
  ['spec.template.annotations', 'podMetadata.annotations'],
  ['spec.template.metadata.annotations', 'podMetadata.annotations'],
  ['spec', ''],
]

/**
 * Explains the API server's refusal of an object to the author of the workload: the place in the config, the API server's words, and a
 * remedy if there is one.
 */
export const explainRefusal = (error: ApiError, kind: string, workload: object): string => {
  const findings = parseFindings(error)
  const [first] = findings
  if (first === undefined)
    return `${ROOT}: ${error.message}${hint({ path: '', why: error.message }, { path: '', value: workload })}`
  const told = findings.slice(0, MOST).map((finding) => described(finding, kind, workload))
  const more = findings.length > MOST ? [`and ${findings.length - MOST} more`] : []
  return [...told, ...more].join('; ')
}

const ROOT = 'data.config.workload'
const MOST = 3

const described = (finding: Finding, kind: string, workload: object): string => {
  const place = findPlace(finding, kind, workload)
  return `${place.path}: ${finding.why}${hint(finding, place)}`
}

/** Parses the findings of a Status. It lists fields as causes, but violations of a schema only in its message. */
const parseFindings = ({ causes, message }: ApiError): Finding[] => {
  if (causes.length > 0) return causes.map(({ field = '', message: why = '' }) => ({ path: field, why }))
  const [, told] = /failed to create typed patch object \([^)]*\): ([\s\S]*)$/.exec(message) ?? []
  const lines = told?.replace(/^errors:\n/, '').split('\n') ?? []
  return lines.flatMap((line) => {
    const [, path = '', why] = /^\s*\.?(\S*?): (.*)$/.exec(line) ?? []
    return why === undefined ? [] : [{ path, why }]
  })
}

const findPlace = ({ path }: Finding, kind: string, workload: object): Place => {
  const isPods = kind === 'Deployment' || kind === 'StatefulSet'
  const part = isPods && PARTS.find(([prefix]) => path === prefix || path.startsWith(`${prefix}.`))
  if (!part) return { path: [ROOT, kind, path].filter(Boolean).join(': '), value: undefined }
  const [prefix, key] = part
  const steps = [...key.split('.').filter(Boolean), ...parseSteps(path.slice(prefix.length))]
  return walk(steps, { path: ROOT, value: workload })
}

/** Splits a path such as `.containers[name="c"].env[0].value` into steps. */
const parseSteps = (path: string): string[] => path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []

const walk = (steps: readonly string[], start: Place): Place =>
  steps.reduce<Place>(({ path, value }, step) => {
    const name = resolveStep(step, value)
    return { path: `${path}.${name}`, value: (value as Record<string, unknown> | undefined)?.[name] }
  }, start)

/** Resolves `[name="c"]` to the index of that item. Members of maps may be in brackets as well. */
const resolveStep = (step: string, value: unknown): string => {
  const inner = step.replace(/^\[|\]$/g, '')
  const keys = [...inner.matchAll(/(\w+)=("[^"]*"|[^,]+)/g)].map(
    ([, key = '', text = '']) => [key, jsonOrText(text)] as const,
  )
  if (!step.startsWith('[') || !Array.isArray(value) || keys.length === 0) return inner
  const index = value.findIndex((item) =>
    keys.every(([key, wanted]) => item?.[key] === wanted || (key === 'protocol' && item?.[key] === undefined)),
  )
  return index < 0 ? inner : String(index)
}

type Hint = (name: string, value: unknown) => string | undefined

const HINTS: readonly (readonly [words: RegExp, hint: Hint])[] = [
  [/field not declared in schema|unknown field/, (name) => meant(nearestName(name, FIELD_NAMES))],
  [/expected list/, (_, value) => (isScalar(value) ? `write a list: ${JSON.stringify([value])}` : 'write a list')],
  [
    /expected string/,
    (_, value) => (isScalar(value) ? `quote it: ${JSON.stringify(String(value))}` : 'write one text'),
  ],
  [/expected numeric/, (_, value) => `write a number${isNumeric(value) ? `: ${Number(value)}` : ''}`],
  [/expected boolean/, () => 'write true or false, without quotes'],
  [/expected map/, () => 'write an object, key by key'],
  [/duplicate entries|Duplicate value/, () => 'each may appear once'],
  [/quantities must match|parse quantity/, (_, value) => quantityHint(value)],
  [
    /updates to statefulset spec/,
    () =>
      'these fields of a StatefulSet cannot change: to give its claims more room, resize the PersistentVolumeClaims, delete the StatefulSet with --cascade=orphan, and send this again; its pods and their storage stay',
  ],
]

const hint = ({ path, why }: Finding, { value }: Place): string => {
  const name = parseSteps(path).at(-1) ?? ''
  const found = HINTS.find(([words]) => words.test(why))?.[1](name, value)
  return found === undefined ? '' : ` (${found})`
}

const meant = (name: string | undefined): string | undefined => name && `did you mean ${name}?`

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

const isNumeric = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))

const QUANTITY = /^[+-]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+|[numkKMGTPE]i?)?$/

/** Finds the quantity that cannot be read, because the API server does not name it. */
const quantityHint = (value: unknown): string => {
  const bad = findQuantities(value).find(([, text]) => !QUANTITY.test(String(text)))
  const where = bad ? `${bad[0]}: ${JSON.stringify(bad[1])}; ` : ''
  return `${where}a quantity is a number with a suffix of Kubernetes, as 500m or 64Mi`
}

const AMOUNTS = ['limits', 'requests', 'sizeLimit', 'divisor']

const findQuantities = (value: unknown, path = 'data.config.workload'): [path: string, amount: unknown][] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${path}.${key}`
    if (!AMOUNTS.includes(key)) return findQuantities(inner, here)
    return typeof inner === 'object' && inner !== null
      ? Object.entries(inner).map(([name, amount]): [string, unknown] => [`${here}.${name}`, amount])
      : [[here, inner]]
  })
}
