/** The exit code of a command: 1 if it failed, 2 if scripts must notice the result, 3 if the result is incomplete. */
export type ExitCode = 1 | 2 | 3

/** Ends the command with a message on stderr and an exit code. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: ExitCode

  constructor(message: string, code: ExitCode = 1, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
