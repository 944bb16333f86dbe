/**
 * The life of a process: starts, stops at SIGTERM or SIGINT, and exits with 0 when all is finished; with 1 and the reason when it
 * could not start. Signals are listened to from the beginning: the first process of a container gets none that it does not listen to.
 */
export const runUntilSignal = async (start: () => Promise<{ stop(): Promise<void> }>): Promise<void> => {
  const signalled = Promise.withResolvers<void>()
  process.once('SIGTERM', () => signalled.resolve())
  process.once('SIGINT', () => signalled.resolve())
  try {
    const running = await start()
    await signalled.promise
    await running.stop()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${(error as Error).name === 'Broken' ? (error as Error).message : (error as Error).stack}\n`)
    process.exit(1)
  }
}
