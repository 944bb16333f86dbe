import type { Subject } from '../base/subject.ts'

const SOURCE = /^\/meshstep\/([^/]+)\/([^/]+)$/

/** The source of the events that an application sends. */
export const applicationSource = ({ namespace, application }: Subject): string =>
  `/meshstep/${namespace}/${application}`

/** Reads the application from an event's source. Returns undefined for events of others. */
export const parseSource = (source: string): Subject | undefined => {
  const [, namespace, application] = SOURCE.exec(source) ?? []
  return namespace !== undefined && application !== undefined ? { namespace, application } : undefined
}
