import { at, type JsonMap, listOf } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { annotationErrors, forbiddenField, immutable, invalidValue, labelErrors, required } from './errors.ts'
import { problems } from './formats.ts'
import { holds, labelKey, type Rule } from './rules.ts'

const filled = holds((value) => value !== '', 'must not be empty')

const ownerErrors: Rule = (list, field) =>
  // the API server leaves the index out
  listOf(list).flatMap((owner) => [
    ...holds((version) => !/(^|\/)$/.test(String(version)), 'version must not be empty')(
      at(owner, 'apiVersion') ?? '',
      `${field}.apiVersion`,
    ),
    ...['kind', 'name', 'uid'].flatMap((key) => filled(at(owner, key) ?? '', `${field}.${key}`)),
  ])

const standardFinalizers = ['foregroundDeletion', 'kubernetes', 'orphan']

const finalizerNames = ({ finalizers }: JsonMap, { custom }: Kind): FieldError[] => {
  const names = listOf(finalizers).map(String)
  const short = names.map((name) => !custom && !name.includes('/') && !standardFinalizers.includes(name))
  const why = 'name is neither a standard finalizer name nor is it fully qualified'
  return [
    ...names.flatMap((name) => labelKey(name, 'metadata.finalizers')),
    ...names.flatMap((name, index) => (short[index] ? [invalidValue(`metadata.finalizers[${index}]`, name, why)] : [])),
  ]
}

const mapErrors = (metadata: JsonMap): FieldError[] => [
  ...labelErrors(metadata.labels, 'metadata.labels'),
  ...annotationErrors(metadata.annotations, 'metadata.annotations'),
  ...ownerErrors(metadata.ownerReferences, 'metadata.ownerReferences'),
]

const nameErrors = ({ names }: Kind, { name, generateName }: JsonMap): FieldError[] => {
  if (name === undefined || name === '') {
    return generateName === undefined || generateName === ''
      ? [required('metadata.name', 'name or generateName is required')]
      : []
  }
  return problems(names, String(name)).map((why) => invalidValue('metadata.name', name, why))
}

/** The errors of a new object's metadata. */
export const metadataErrors = (kind: Kind, metadata: JsonMap): FieldError[] => [
  ...nameErrors(kind, metadata),
  ...mapErrors(metadata),
  ...finalizerNames(metadata, kind),
]

const fixed = ['name', 'namespace', 'uid'] as const

/** Finalizers may not be added once the deletion has begun. */
const finalizerErrors = (metadata: JsonMap, previous: JsonMap): FieldError[] => {
  if (previous.deletionTimestamp === undefined) return []
  const added = listOf(metadata.finalizers).filter((each) => !listOf(previous.finalizers).includes(each))
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((each) => JSON.stringify(each)).join(', ')}}`
  return added.length === 0 ? [] : [forbiddenField('metadata.finalizers', why)]
}

/** The errors of a changed object's metadata. */
export const metadataUpdateErrors = (metadata: JsonMap, previous: JsonMap): FieldError[] => [
  ...fixed.flatMap((key) => immutable(`metadata.${key}`, metadata[key], previous[key])),
  ...finalizerErrors(metadata, previous),
  ...mapErrors(metadata),
]
