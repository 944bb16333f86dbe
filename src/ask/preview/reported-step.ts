import type { DoneStep } from '../../core/events/handle.ts'
import { isWithinMemory } from '../../core/reconcile/outcome.ts'

/** A step of a plan, in the form of a log entry of a real step. */
export type ReportedStep = Omit<DoneStep, 'time' | 'milliseconds' | 'effects' | 'published'>

export const reportedStep = ({
  time: _,
  milliseconds: _m,
  effects: _e,
  published: _p,
  ...step
}: DoneStep): ReportedStep => step

/** Tells if a step is worth reporting. A step that only wrote its memory is not. */
export const isTelling = ({ status, messages }: ReportedStep): boolean => !isWithinMemory(status) || messages.length > 0
