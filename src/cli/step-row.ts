import type { DoneStep } from '../core/events/handle.ts'
import { isTold } from './send.ts'

/** Formats a step as a line. Its columns have fixed widths, because later steps are unknown. */
export const stepRow = ({ time, application = '', status, event, written }: DoneStep): string => {
  const type = event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')
  const objects = written.filter(isTold).join(', ')
  return [time.slice(11, 19), application.padEnd(20), status.padEnd(9), type.padEnd(16), objects].join('  ').trimEnd()
}
