import { createInterface } from 'node:readline/promises'
import { ConfigurationError } from '../platform/base/errors.ts'

/** Asks a person, and resolves to the answer. Undefined if nobody can be asked. */
export type Ask = ((question: string) => Promise<string>) | undefined

/** Rejects with ConfigurationError unless a person agrees that events act on the described cluster. */
export const agree = async (what: string, ask: Ask): Promise<void> => {
  const question = `Events will act on ${what}, with its rights.`
  if (ask === undefined)
    throw new ConfigurationError(
      `${question} There is no terminal to ask: agree with --yes, or unset KUBECONFIG to get an example cluster.`,
    )
  if (!/^y(es)?$/i.test((await ask(`${question} Take events? [y/N] `)).trim()))
    throw new ConfigurationError('Not started: events would have acted on that cluster.')
}

/** Asks at the terminal of this process, if it has one. A closed terminal or a signal counts as an empty answer. */
export const terminal = ({ stdin: input, stderr: output } = process): Ask =>
  input.isTTY && output.isTTY
    ? async (question) => {
        const lines = createInterface({ input, output })
        const ended = Promise.withResolvers<string>()
        const end = () => ended.resolve('')
        lines.once('close', end).once('SIGINT', end)
        process.once('SIGTERM', end)
        try {
          return await Promise.race([lines.question(question), ended.promise])
        } finally {
          process.off('SIGTERM', end)
          lines.close()
        }
      }
    : undefined
