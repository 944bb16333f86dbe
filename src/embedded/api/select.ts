import { at } from '../../platform/base/json.ts'
import { parseSelector, selects } from '../../platform/kubernetes/label-selector.ts'
import { labelProblem } from '../../platform/kubernetes/label-syntax.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { badRequest } from '../kinds/status.ts'

type Labels = Readonly<Record<string, string>>

/** Reads a label selector (`a=b,c in (d,e),!f`); an invalid one is a 400. */
export const labelSelector = (text: string): ((labels: Labels) => boolean) => {
  if (text.trim() === '') return () => true
  const selector = parseSelector(text)
  const wanted = [
    ...Object.entries(selector.matchLabels),
    ...selector.matchExpressions.flatMap(({ key, values }) => ['', ...values].map((value) => [key, value] as const)),
  ]
  const isValid = wanted.every(([key, value]) => labelProblem(key, value) === undefined)
  if (!isValid) throw badRequest(`unable to parse requirement: ${text}`)
  return (labels) => selects(selector, labels)
}

/** Reads a field selector, `metadata.name=a,status.phase!=Running`; any field may be named. */
export const fieldSelector = (text: string): ((object: StoredObject) => boolean) => {
  const requirements = text
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, path, operator, value] = /^([^=!]*)(==|!=|=)(.*)$/.exec(term) ?? []
      if (path === undefined) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      return { path: path.split('.'), value, isWanted: operator !== '!=' }
    })
  return (object) =>
    requirements.every(({ path, value, isWanted }) => (String(at(object, ...path) ?? '') === value) === isWanted)
}

/** Matches the objects that `labelSelector` and `fieldSelector` of a list or watch select. */
export const selected = (query: URLSearchParams): ((object: StoredObject) => boolean) => {
  const hasLabels = labelSelector(query.get('labelSelector') ?? '')
  const hasFields = fieldSelector(query.get('fieldSelector') ?? '')
  return (object) => hasLabels(object.metadata.labels ?? {}) && hasFields(object)
}
