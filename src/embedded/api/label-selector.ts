import { labelOf } from '../../platform/base/json.ts'
import { badRequest } from '../kinds/status.ts'
import { keyProblems, problems } from '../validate/formats.ts'

type Labels = Readonly<Record<string, unknown>>
export type Selector = (labels: Labels) => boolean

/** A comma that is in no brackets. */
const separator = /,(?![^(]*\))/

const requirement = /^(!?)\s*([^\s(),!=<>]+)\s*(?:(==?|!=)\s*([^\s(),!=<>]*)|\s(in|notin)\s*\(([^()!=<>]*)\))?$/

const requirementOf = (text: string): Selector => {
  const [whole, absent, key = '', operator, value, listOperator, list] = requirement.exec(text.trim()) ?? []
  const values = value === undefined ? list?.split(',').map((each) => each.trim()) : [value]
  const isValid = keyProblems(key).length === 0 && !values?.some((each) => problems('labelValue', each).length > 0)
  if (whole === undefined || !isValid || (absent && values)) throw badRequest(`unable to parse requirement: ${text}`)
  if (values === undefined) return (labels) => (labelOf(labels, key) === undefined) === (absent === '!')
  const isWanted = operator === '=' || operator === '==' || listOperator === 'in'
  return (labels) => values.includes(String(labelOf(labels, key) ?? '\0')) === isWanted
}

/**
 * Parses a label selector (`a=b,c in (d,e),!f`); an invalid one is a 400. See
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api
 */
export const labelSelector = (text: string): Selector => {
  const all = text.trim() === '' ? [] : text.split(separator).map(requirementOf)
  return (labels) => all.every((holds) => holds(labels))
}
