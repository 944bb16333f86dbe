import type { DoneStep } from '../../core/events/handle.ts'
import type { Log } from '../../platform/base/log.ts'

/** Logs a step, and the drift that it repaired. */
export const logStep = (log: Log, { time: _, ...step }: DoneStep): void => {
  log.info(step, 'step done')
  const { namespace, application, drift } = step
  if (drift) log.warn({ namespace, application, drift }, 'drift repaired')
}
