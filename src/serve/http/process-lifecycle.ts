import { ConfigurationError, isConfigurationError } from '../../platform/base/errors.ts'

/**
 * Runs a process: starts, stops at SIGTERM or SIGINT, and exits with 0 after that. If the start fails, it exits with 1 and prints the reason. Signal
 * handlers are set first, because the kernel ignores signals without a handler for the first process of a container.
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

/** Explains why a port cannot be opened, and names the setting to change. */
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
