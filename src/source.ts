import type { Subject } from './state.ts'

const PREFIX = '/meshstep/'

/** The source of the events that an application publishes. */
export const sourceOf = ({ namespace, application }: Subject): string => `${PREFIX}${namespace}/${application}`

/** Whether an event of that source is what some application published. */
export const isOfApplication = (source: string): boolean => source.startsWith(PREFIX)
