import { ownValue } from '../base/own-value.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'
import type { RuleId } from './rules.ts'

/** A probable mistake: its id, the application or object that it is about, and what to do. */
export type Finding = { readonly rule: RuleId; readonly about: string; readonly message: string }

/** A finding and the object that may allow it. */
export type Found = Finding & { readonly in?: KubernetesObject }

export const foundIn = (object: KubernetesObject, rule: RuleId, message: string): Found => ({
  ...{ rule, about: nameOf({ kind: object.kind, ...object.metadata }), message },
  in: object,
})

/** On an object or its Namespace: ids of findings that are meant to be so, separated by commas. */
export const ALLOW = 'meshstep.dev/allow'

/** The findings that neither their object nor their Namespace allows. */
export const unallowed = (found: readonly Found[], home: KubernetesObject | undefined): Finding[] =>
  found
    .filter((one) => ![one.in, home].some((object) => allowedIn(object).includes(one.rule)))
    .map(({ in: _, ...finding }) => finding)

const allowedIn = (object: KubernetesObject | undefined): string[] =>
  (ownValue(object?.metadata.annotations, ALLOW) ?? '').split(',').map((id) => id.trim())
