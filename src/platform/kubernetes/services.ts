import { ownValue } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import { hasLabels } from './label-selector.ts'
import type { Typed } from './typed.ts'

export const NAME_LABEL = 'app.kubernetes.io/name'

/** Tells if a Service belongs to the application. It does if it has the application's name, or selects its pods. */
export const isServiceOf = ({ application }: Subject, { metadata, spec }: Typed<'Service'>): boolean =>
  metadata?.name === application || ownValue(spec?.selector, NAME_LABEL) === application

/** Tells if a Service has no address of its own, so that its name resolves to its pods. */
export const isHeadless = ({ spec }: Typed<'Service'>): boolean => spec?.clusterIP === 'None'

/** The port of a Service whose charm has opened none, because a Service needs one. */
const PLACEHOLDER = 65_535

/** Tells if a Service that Juju made has no port of its charm yet. */
export const hasNoPort = ({ spec }: Typed<'Service'>): boolean =>
  (spec?.ports ?? []).every(({ port }) => port === PLACEHOLDER)

/** Tells if a Service selects pods with these labels. One without a selector selects none. */
export const isSelecting = ({ spec }: Typed<'Service'>, labels: Readonly<Record<string, string>>): boolean => {
  const selector = spec?.selector ?? {}
  return Object.keys(selector).length > 0 && hasLabels(labels, selector)
}
