import { ConfigurationError, isConfigurationError } from '../../platform/base/errors.ts'

/**
 * The life of a process: starts, stops at SIGTERM or SIGINT, and exits with 0 when all is finished; with 1 and the reason when it
 * could not start. Signals are listened to from the beginning: the first process of a container gets none that it does not listen to.
 */
export const runUntilSignal = async (start: () => Promise<{ stop(): Promise<void> }>): Promise<void> => {
  const signalled = Promise.withResolvers<void>()
  process.on('SIGTERM', () => signalled.resolve())
  process.on('SIGINT', () => signalled.resolve())
  try {
    const running = await start()
    await signalled.promise
    await running.stop()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${isConfigurationError(error) ? (error as Error).message : (error as Error).stack}\n`)
    process.exit(1)
  }
}

/** Explains why a port could not be opened, and names the setting to change. */
export const portProblem = (error: NodeJS.ErrnoException, setting: string, port: number): Error =>
  error.code === 'EADDRINUSE' || error.code === 'EACCES'
    ? new ConfigurationError(
        `${setting}: port ${port} cannot be opened (${error.code}): stop what uses it, or set ${setting} to another`,
        {
          cause: error,
        },
      )
    : error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND'
      ? new ConfigurationError(`--host: ${error.message}: name an address of this machine`, { cause: error })
      : error
