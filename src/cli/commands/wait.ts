import { type Command, Option } from 'commander'
import { type Clock, systemClock } from '../../platform/base/clock.ts'
import { describeCondition } from '../../platform/base/condition.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { Failure } from '../failure.ts'
import { parseApplication, parseDuration, withServer } from '../options.ts'
import { print } from '../output.ts'
import { ErrorAnswer, type Server } from '../server.ts'

export const wait = (program: Command): void => {
  program
    .command('wait')
    .summary('wait until applications are ready, or removed')
    .argument('<application...>', '[namespace/]application; it need not exist yet')
    .addOption(new Option('--for <condition>', 'what to wait for').choices(['ready', 'delete']).makeOptionMandatory())
    .addOption(
      new Option('--timeout <time>', 'how long, such as 30s or 5m').default(30_000, '30s').argParser(parseDuration),
    )
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo wait details productpage --for ready --timeout 5m')
    .action((given: string[], options: Options, command: Command) =>
      withServer(command, async ({ server, namespace }) => {
        const names = given.map((name) => subjectName(parseApplication(name, namespace)))
        await waitFor(server, names, options, systemClock)
      }),
    )
}

/** `timeout` is in milliseconds. */
type Options = { readonly for: 'ready' | 'delete'; readonly timeout: number }

const DONE = { ready: 'ready', delete: 'removed' } as const

const PAUSE_MILLISECONDS = 2_000
/** A server has so long to answer, also where less of the timeout is left. */
const LEAST_MILLISECONDS = 5_000

/** Asks about applications again and again, and prints each that is done. Throws Failure with what the others wait for if the time is over. */
export const waitFor = async (
  server: Pick<Server, 'get'>,
  names: readonly string[],
  { for: condition, timeout }: Options,
  clock: Pick<Clock, 'now' | 'sleep'>,
): Promise<void> => {
  const end = clock.now() + timeout
  const left = new Map(names.map((name) => [name, [] as readonly string[]]))
  for (;;) {
    for (const name of [...left.keys()]) {
      const awaited = await awaitedOf(
        server,
        name,
        condition,
        AbortSignal.timeout(Math.max(end - clock.now(), LEAST_MILLISECONDS)),
      )
      left.set(name, awaited)
      if (awaited.length > 0) continue
      left.delete(name)
      print(`application ${name} ${DONE[condition]}`)
    }
    const rest = end - clock.now()
    if (left.size === 0) return
    const why = `not ${DONE[condition]} in time: do as is said here, or set a longer --timeout`
    if (rest <= 0) throw new Failure([why, ...[...left.values()].flat()].join('\n'))
    await clock.sleep(Math.min(PAUSE_MILLISECONDS, rest))
  }
}

const TOO_OLD = [{ message: 'the functions are older than this command: upgrade them' }]

/** Lists what is awaited of an application, a line each. */
const awaitedOf = async (
  server: Pick<Server, 'get'>,
  name: string,
  condition: Options['for'],
  signal: AbortSignal,
): Promise<string[]> => {
  try {
    const { status, conditions = TOO_OLD } = await server.get<ApplicationView>(`/applications/${name}`, {}, signal)
    const isRemoved = status.status === 'removed'
    if (isRemoved) return condition === 'delete' ? [] : [`${name}: it is removed`]
    const reasons = [...(condition === 'delete' ? ['it is not removed'] : []), ...conditions.map(describeCondition)]
    return reasons.map((reason) => `${name}: ${reason}`)
  } catch (error) {
    if (!(error instanceof ErrorAnswer && /^(404|429|5..)$/.test(String(error.status)))) throw error
    // a 404 about something else, such as the path, does not say that the application is gone
    const isGone = error.status === 404 && error.message.startsWith(`${name}: `)
    return isGone && condition === 'delete' ? [] : [error.message]
  }
}
