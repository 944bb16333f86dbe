import type { DoneStep } from '../core/events/handle.ts'
import { isTold } from './send.ts'

/** A line of a step, in columns of fixed width: what comes is not known. */
export const stepRow = ({ time, application = '', status, event, written }: DoneStep): string => {
  const type = event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')
  const objects = written.filter(isTold).join(', ')
  return [time.slice(11, 19), application.padEnd(20), status.padEnd(9), type.padEnd(16), objects].join('  ').trimEnd()
}
