import { ownValue } from '../../platform/base/own-value.ts'
import { type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import { RULE_IDS, type RuleId } from './rule-ids.ts'

/** A probable mistake: its id, the application or object that it is about, and what to do. */
export type Finding = { readonly rule: RuleId; readonly about: string; readonly message: string }

/** A finding and the object that may allow it. */
export type Found = Finding & { readonly in?: KubernetesObject }

export const foundIn = (object: KubernetesObject, rule: RuleId, message: string): Found => ({
  ...{ rule, about: nameOf({ kind: object.kind, ...object.metadata }), message },
  in: object,
})

/** On an object or its Namespace: ids of findings that are meant to be so, separated by commas; a reason may follow. */
export const ALLOW = 'meshstep.dev/allow'

/** The findings that neither their object nor their Namespace allows. */
export const unallowed = (found: readonly Found[], home: KubernetesObject | undefined): Finding[] =>
  found
    .filter((one) => ![one.in, home].some((object) => allowedIn(object).includes(one.rule)))
    .map(({ in: _, ...finding }) => finding)

/** Ids that an object allows and no finding has. */
export const unknownAllowed = (object: KubernetesObject, allowing = object): Found[] =>
  allowedIn(allowing)
    .filter((id) => !RULE_IDS.some((known) => known === id))
    .map((id) => foundIn(object, 'allow-unknown', `${id.slice(0, 60)} is the id of no finding: it allows nothing`))

const allowedIn = (object: KubernetesObject | undefined): string[] =>
  allowedBy(ownValue(object?.metadata.annotations, ALLOW) ?? '')

/** The ids at the beginning of a text: `selects-all, port-unknown because of the proxy`. */
export const allowedBy = (text: string): string[] =>
  (/^\s*[-\w]+(?:\s*,\s*[-\w]+)*/.exec(text)?.[0] ?? '').split(',').flatMap((id) => id.trim() || [])
