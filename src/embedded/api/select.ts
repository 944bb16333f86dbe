import { at } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import type { Kind } from '../kinds/kind.ts'
import { badRequest } from '../kinds/status.ts'
import { labelSelector } from './label-selector.ts'

const always = ['metadata.name', 'metadata.namespace']

const unsupportedField = (kind: Kind, path: string): Error =>
  badRequest(
    kind.selectable.length > 0
      ? `field label not supported: ${path}`
      : `"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  )

type FieldRequirement = { readonly path: string; readonly value: string; readonly wanted: boolean }

/** Reads a field selector, `metadata.name=a,status.phase!=Running`. */
export const fieldSelector = (text: string): FieldRequirement[] =>
  text
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, path, operator, value] = /^([^=!]*)(==|!=|=)(.*)$/.exec(term) ?? []
      if (path === undefined || value === undefined) {
        throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      }
      return { path, value, wanted: operator !== '!=' }
    })

/** Matches the objects that `labelSelector` and `fieldSelector` of a list or watch select. */
export const selected = (kind: Kind, query: URLSearchParams): ((object: KubernetesObject) => boolean) => {
  const hasLabels = labelSelector(query.get('labelSelector') ?? '')
  const fields = fieldSelector(query.get('fieldSelector') ?? '')
  for (const { path } of fields) if (![...always, ...kind.selectable].includes(path)) throw unsupportedField(kind, path)
  return (object) =>
    hasLabels(object.metadata.labels ?? {}) &&
    fields.every(({ path, value, wanted }) => (String(at(object, ...path.split('.')) ?? '') === value) === wanted)
}
