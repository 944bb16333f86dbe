import { Failure } from '../failure.ts'

/** The longest pause after failures, unless the usual one is longer. */
const LONGEST_PAUSE_MILLISECONDS = 10 * 60 * 1_000

/** The pause before the next round: the usual one, doubled with each failure in a row. */
export const pauseAfter = (failures: number, every: number): number =>
  Math.max(every, Math.min(every * 2 ** failures, LONGEST_PAUSE_MILLISECONDS))

type Repetition = {
  /** Milliseconds. */
  readonly every: number
  sleep(milliseconds: number): Promise<void>
  onFailure(failure: Failure): void
  isOver(): boolean
}

/** Repeats a round until `isOver`. After one that fails the pauses grow until one succeeds. */
export const repeat = async (
  round: () => Promise<void>,
  { every, sleep, onFailure, isOver }: Repetition,
): Promise<void> => {
  for (let failures = 0; ; ) {
    try {
      await round()
      failures = 0
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      failures += 1
      onFailure(error)
    }
    if (isOver()) return
    await sleep(pauseAfter(failures, every))
    if (isOver()) return
  }
}
