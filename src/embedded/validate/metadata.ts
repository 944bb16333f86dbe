import type { JsonMap } from '../../platform/base/json.ts'
import { DNS_LABEL, DNS_SUBDOMAIN } from '../../platform/base/names.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { annotationErrors, immutable, invalidValue, labelErrors, required } from './errors.ts'

const formats: Readonly<Record<Kind['names'], readonly [pattern: RegExp, words: string]>> = {
  label: [DNS_LABEL, 'a lowercase RFC 1123 label'],
  'label-1035': [/^(?=.{1,63}$)[a-z]([-a-z0-9]*[a-z0-9])?$/, 'a DNS-1035 label'],
  subdomain: [DNS_SUBDOMAIN, 'a lowercase RFC 1123 subdomain'],
}

const nameErrors = ({ names }: Kind, { name, generateName }: JsonMap): FieldError[] => {
  const [pattern, words] = formats[names]
  if (name) return pattern.test(String(name)) ? [] : [invalidValue('metadata.name', name, `must be ${words}`)]
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
