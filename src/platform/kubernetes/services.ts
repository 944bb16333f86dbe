import { ownValue } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { KubernetesObject } from './objects.ts'

export const NAME_LABEL = 'app.kubernetes.io/name'
export type Spec = {
  readonly selector?: Readonly<Record<string, string>>
  readonly clusterIP?: string
  readonly ports?: readonly { readonly port: number }[]
}

/** Tells if a Service belongs to the application. It does if it has the application's name, or selects its pods. */
export const isServiceOf = ({ application }: Subject, { metadata, spec = {} }: KubernetesObject): boolean =>
  metadata.name === application || ownValue((spec as Spec).selector, NAME_LABEL) === application

/** Tells if a Service has no address of its own, so that its name resolves to its pods. */
export const isHeadless = ({ spec = {} }: KubernetesObject): boolean => (spec as Spec).clusterIP === 'None'

/** The port of a Service whose charm has opened none, because a Service needs one. */
const PLACEHOLDER = 65_535

/** Tells if a Service that Juju made has no port of its charm yet. */
export const hasNoPort = ({ spec = {} }: KubernetesObject): boolean =>
  ((spec as Spec).ports ?? []).every(({ port }) => port === PLACEHOLDER)

/** Tells if a Service selects pods with these labels. One without a selector selects none. */
export const isSelecting = ({ spec = {} }: KubernetesObject, labels: Readonly<Record<string, string>>): boolean => {
  const selector = Object.entries((spec as Spec).selector ?? {})
  return selector.length > 0 && selector.every(([key, value]) => ownValue(labels, key) === value)
}
