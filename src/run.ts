/**
 * The life of a process: starts, stops at SIGTERM or SIGINT, and exits with 0 when all is finished; with 1 and the reason when it
 * could not start.
 */
export const runUntilSignal = async (start: () => Promise<{ stop(): Promise<void> }>): Promise<void> => {
  try {
    const running = await start()
    const stop = () => void running.stop().then(() => process.exit(0))
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  } catch (error) {
    process.stderr.write(`${(error as Error).name === 'Broken' ? (error as Error).message : (error as Error).stack}\n`)
    process.exit(1)
  }
}
