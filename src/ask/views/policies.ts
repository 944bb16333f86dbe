import { parseRequesters } from '../../core/policies/requested-by.ts'
import {
  type AuthorizationPolicySpec,
  readAuthorizationPolicy,
  targetsOf,
} from '../../mesh/istio/authorization-policy.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** An AuthorizationPolicy that meshstep wrote. */
export type PolicyView = {
  readonly namespace: string
  readonly name: string
  readonly action: string
  /** The object whose requests it decides: `Service db`, `pods app=db`, `Gateway way`, or `everything`. */
  readonly target: string
  /** The clients that it allows or denies: service accounts, or `anybody`. An empty list means no client. */
  readonly sources: readonly string[]
  /** The application that wrote it. */
  readonly owner: string
  /** The relations that requested it. */
  readonly requestedBy: readonly string[]
}

/** Lists the policies among `objects` that an application wrote or requested. */
export const policyViews = (subject: Subject, objects: readonly KubernetesObject[]): PolicyView[] =>
  objects
    .map((object) => ({ object, owner: ownerOf(object), requestedBy: parseRequesters(object) }))
    .filter(
      ({ owner, requestedBy }) =>
        owner === subjectName(subject) || requestedBy.some((name) => name.endsWith(` of ${subjectName(subject)}`)),
    )
    .map(policyView)

const ownerOf = ({ metadata: { namespace = '', labels } }: KubernetesObject): string => {
  const home = ownValue(labels, 'meshstep.dev/namespace') ?? namespace
  return `${home}/${ownValue(labels, 'meshstep.dev/application') ?? ''}`
}

type Found = Pick<PolicyView, 'owner' | 'requestedBy'> & { readonly object: KubernetesObject }

const policyView = ({ object, owner, requestedBy }: Found): PolicyView => {
  const { namespace = '', name } = object.metadata
  const read = readAuthorizationPolicy(object)
  const spec = 'policy' in read ? read.policy.spec : {}
  return {
    ...{ namespace, name },
    action: spec.action ?? 'ALLOW',
    target: targetOf(spec),
    sources: sourcesOf(spec),
    ...{ owner, requestedBy },
  }
}

const targetOf = (spec: AuthorizationPolicySpec): string => {
  const targets = targetsOf(spec)
  if (targets.length > 0) return targets.map(({ kind, name }) => `${kind} ${name}`).join(', ')
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
  return labels.length > 0 ? `pods ${labels.join(',')}` : 'everything'
}

/** Lists the sources, with `cluster.local/ns/shop/sa/web` as `shop/web`. */
const sourcesOf = ({ rules = [] }: AuthorizationPolicySpec): string[] => {
  const sources = rules.flatMap(({ from }) =>
    from === undefined ? ['anybody'] : from.flatMap(({ source = {} }) => source.principals ?? ['anybody']),
  )
  return [...new Set(sources.map((one) => one.replace(/^.*\/ns\/(.*)\/sa\/(.*)$/, '$1/$2')))].toSorted()
}
