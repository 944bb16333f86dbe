import { ownValue } from '../../platform/base/own-value.ts'
import { type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { RULE_IDS, type RuleId } from './rule-ids.ts'

/** A probable mistake: its id, the application or object concerned, and the remedy. */
export type Finding = { readonly rule: RuleId; readonly about: string; readonly message: string }

/** A finding, with the object whose annotation may allow it. */
export type Found = Finding & { readonly in?: KubernetesObject }

export const foundIn = (object: KubernetesObject, rule: RuleId, message: string): Found => ({
  ...{ rule, about: objectKey(object), message },
  in: object,
})

/** The annotation of an object or its Namespace with the ids of intended findings, separated by commas. A reason may follow. */
export const ALLOW = 'meshstep.dev/allow'

/** Leaves out findings that their object, or one of these others, allows. */
export const unallowed = (found: readonly Found[], ...others: (KubernetesObject | undefined)[]): Finding[] =>
  found
    .filter((one) => ![one.in, ...others].some((object) => allowedIn(object).includes(one.rule)))
    .map(({ in: _, ...finding }) => finding)

/** Reports allowed ids that no finding has. */
export const unknownAllowed = (object: KubernetesObject, allowing = object): Found[] =>
  allowedIn(allowing)
    .filter((id) => !RULE_IDS.some((known) => known === id))
    .map((id) => foundIn(object, 'allow-unknown', `${id.slice(0, 60)} is the id of no finding: it allows nothing`))

const allowedIn = (object: KubernetesObject | undefined): string[] =>
  allowedBy(ownValue(object?.metadata.annotations, ALLOW) ?? '')

/** Parses the ids at the beginning of a text such as `selects-all, port-unknown because of the proxy`. */
export const allowedBy = (text: string): string[] =>
  (/^\s*[-\w]+(?:\s*,\s*[-\w]+)*/.exec(text)?.[0] ?? '').split(',').flatMap((id) => id.trim() || [])
