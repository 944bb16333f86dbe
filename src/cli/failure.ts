/** The exit code of a command: 1 if it could not be done, 2 if scripts must notice its answer, 3 if the answer is not complete. */
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
