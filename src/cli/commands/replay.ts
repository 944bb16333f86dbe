import type { Command } from 'commander'
import type { Handled } from '../../reconcile/handle.ts'
import { Failure } from '../failure.ts'
import { readInput, withServer } from '../options.ts'
import { printAs, say, table } from '../output.ts'

type Options = { shuffle?: string | true; repeat: string }

export const replay = (program: Command): void => {
  program
    .command('replay')
    .summary('send recorded events again')
    .description('Sends the events of a file, one JSON CloudEvent a line. Exit code 2 when one is refused.')
    .argument('<file>', 'as `meshstep record` writes it; - for stdin')
    .option('--shuffle [seed]', 'in an order of chance, the same for the same seed')
    .option('--repeat <times>', 'each so many times', '1')
    .addHelpText('after', '\nExample:\n  meshstep replay events.jsonl --shuffle 7 --repeat 2')
    .action((path: string, { shuffle, repeat }: Options, command: Command) =>
      withServer(command, async ({ server, format }) => {
        const lines = (await readInput(path)).split('\n').filter((line) => line.trim() !== '')
        const repeated = Array.from({ length: Number(repeat) }, () => lines).flat()
        const answers: Answer[] = []
        for (const line of shuffle === undefined ? repeated : shuffled(repeated, seedOf(shuffle))) {
          answers.push(await sendLine(line, (body) => server.post<Handled>('/', 'application/cloudevents+json', body)))
          progress(answers.length, repeated.length)
        }
        printAs(format, answers, answerTable)
        const refused = answers.filter(({ status }) => status === 'refused').length
        if (refused > 0) throw new Failure(`${refused} of ${answers.length} events were refused`, 2)
      }),
    )
}

type Answer = { readonly id: string; readonly status: string; readonly message: string }

const answerTable = (answers: readonly Answer[]): string =>
  table(
    ['ID', 'STATUS', 'MESSAGE'],
    answers.map(({ id, status, message }) => [id, status, message]),
  )

const seedOf = (shuffle: string | true): number => {
  const seed = shuffle === true ? Math.floor(Math.random() * 2 ** 31) : Number(shuffle)
  if (!Number.isSafeInteger(seed)) throw new Failure(`--shuffle ${shuffle}: expected a number`)
  say(`seed ${seed}`)
  return seed
}

const progress = (done: number, of: number): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${of}${done === of ? '\n' : ''}`)
}

const sendLine = async (line: string, post: (body: string) => Promise<Handled>) => {
  const id = idIn(line)
  try {
    const { status, messages } = await post(line)
    return { id, status, message: messages.join('; ') }
  } catch (error) {
    if (error instanceof Failure) return { id, status: 'refused', message: error.message }
    throw error
  }
}

const idIn = (line: string): string => {
  try {
    return String((JSON.parse(line) as { id: unknown }).id)
  } catch (error) {
    throw new Failure(`not a line of JSON: ${line.slice(0, 80)}`, 1, { cause: error })
  }
}

/** Fisher and Yates, by a generator of Park and Miller. */
const shuffled = <T>(items: readonly T[], seed: number): T[] => {
  const result = [...items]
  let state = (Math.abs(Math.trunc(seed)) % 2_147_483_646) + 1
  for (let last = result.length - 1; last > 0; last -= 1) {
    state = (state * 48_271) % 2_147_483_647
    const other = state % (last + 1)
    const [one, two] = [result[last], result[other]]
    if (one !== undefined && two !== undefined) [result[last], result[other]] = [two, one]
  }
  return result
}
