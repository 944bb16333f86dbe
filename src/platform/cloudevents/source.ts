import type { Subject } from '../base/subject.ts'

const SOURCE = /^\/meshstep\/([^/]+)\/([^/]+)$/

/** The source of the events that an application sends. */
export const applicationSource = ({ namespace, application }: Subject): string =>
  `/meshstep/${namespace}/${application}`

/** The application that an event of that source comes from; undefined for the events of everybody else. */
export const parseSource = (source: string): Subject | undefined => {
  const [, namespace, application] = SOURCE.exec(source) ?? []
  return namespace !== undefined && application !== undefined ? { namespace, application } : undefined
}

/** Marks an event from a step that found nothing to do; it is not answered by another, which prevents loops. */
export const ECHO = 'meshstepecho'
