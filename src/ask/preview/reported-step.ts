import type { DoneStep } from '../../core/events/handle.ts'

/** A step of a plan: what a step that is taken would be logged as. */
export type ReportedStep = Omit<DoneStep, 'time' | 'milliseconds' | 'effects' | 'published'>

export const reportedStep = ({
  time: _,
  milliseconds: _m,
  effects: _e,
  published: _p,
  ...step
}: DoneStep): ReportedStep => step

/** Tells if a step is worth reporting: not if it wrote no more than its memory. */
export const isTelling = ({ status, messages }: ReportedStep): boolean => status !== 'unchanged' || messages.length > 0
