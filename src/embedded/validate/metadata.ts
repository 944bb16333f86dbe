import type { JsonMap } from '../../platform/base/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { annotationErrors, immutable, invalidValue, labelErrors, required } from './errors.ts'
import { problems } from './formats.ts'

const nameErrors = ({ names }: Kind, { name, generateName }: JsonMap): FieldError[] => {
  if (name) return problems(names, String(name)).map((why) => invalidValue('metadata.name', name, why))
  return generateName ? [] : [required('metadata.name', 'name or generateName is required')]
}

/** The errors of an object's metadata; `previous` is that of the object that it replaces. */
export const metadataErrors = (kind: Kind, metadata: JsonMap, previous: JsonMap | undefined): FieldError[] => [
  ...(previous === undefined
    ? nameErrors(kind, metadata)
    : ['name', 'namespace', 'uid'].flatMap((key) => immutable(`metadata.${key}`, metadata[key], previous[key]))),
  ...labelErrors(metadata.labels, 'metadata.labels'),
  ...annotationErrors(metadata.annotations, 'metadata.annotations'),
]
