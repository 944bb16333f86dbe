import type { JsonMap } from '../../platform/base/json.ts'
import { type FieldSet, includesItself } from '../../platform/kubernetes/managed-fields/field-set.ts'

const elementPath = (element: string): string => {
  const name = element.slice(2)
  if (element.startsWith('f:')) return `.${name}`
  if (element.startsWith('v:')) return `[=${name}]`
  const keys = Object.entries(JSON.parse(name) as JsonMap)
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
}

/** The paths of a set as messages show them, e.g. `.spec.template.spec.containers[name="c"].image`. */
export const pathsOf = (set: FieldSet, prefix = ''): string[] => {
  const elements = Object.keys(set)
    .filter((element) => element !== '.')
    .toSorted()
  const children = elements.map((element) => ({ set: set[element] ?? {}, path: prefix + elementPath(element) }))
  return [
    ...children.filter((child) => includesItself(child.set)).map(({ path }) => path),
    ...children.flatMap((child) => pathsOf(child.set, child.path)),
  ]
}
