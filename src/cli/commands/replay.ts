import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { readInput } from '../input.ts'
import { wholeNumber, withServer } from '../options.ts'
import { say } from '../output.ts'
import { sendLines } from '../send-lines.ts'

type Options = { shuffle?: string | true; repeat: number }

export const replay = (program: Command): void => {
  program
    .command('replay')
    .summary('send recorded events again')
    .description('Sends the events of a file, one JSON CloudEvent on each line. Exit code 2 if one is refused.')
    .argument('<file>', 'a file of `meshstep record`; - for stdin')
    .option('--shuffle [seed]', 'in a random order, which is the same for the same seed')
    .option('--repeat <times>', 'send each event this many times', wholeNumber(1, 1_000), 1)
    .addHelpText('after', '\nExample:\n  meshstep replay events.jsonl --shuffle 7 --repeat 2')
    .action((path: string, { shuffle, repeat }: Options, command: Command) =>
      withServer(command, async ({ server, format }) => {
        const lines = (await readInput(path)).split('\n').filter((line) => line.trim() !== '')
        const repeated = Array.from({ length: repeat }, () => lines).flat()
        await sendLines(shuffle === undefined ? repeated : shuffled(repeated, seedOf(shuffle)), server, format)
      }),
    )
}

const seedOf = (shuffle: string | true): number => {
  const seed = shuffle === true ? Math.floor(Math.random() * 2 ** 31) : Number(shuffle)
  if (!Number.isSafeInteger(seed)) throw new Failure(`--shuffle ${shuffle}: expected a number`)
  say(`seed ${seed}`)
  return seed
}

/** Shuffles by Fisher and Yates, with the generator of Park and Miller. */
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
