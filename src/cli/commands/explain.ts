import type { Command } from 'commander'
import type { Explanation } from '../../serve/http/explain.ts'
import { Failure } from '../failure.ts'
import { autoAllowWaypoint, parseSideName, withServer } from '../options.ts'
import { printAs } from '../output.ts'

type Options = { port: string; method?: string; path?: string; host?: string; via?: string; autoAllowWaypoint?: string }

export const explain = (program: Command): void => {
  program
    .command('explain')
    .summary('tell if a request would pass, and why')
    .description('Tells if a request would pass, and why. Exit code 2 if it would not, or if that is not known.')
    .argument(
      '<from>',
      '[namespace/]application, or namespace/gateway/name, namespace/pod/name or namespace/sa/account',
    )
    .argument('<to>', '[namespace/]application, or namespace/gateway/name or namespace/pod/name')
    .requiredOption('--port <number>', 'the port of the Service')
    .option('--method <method>', 'the method, such as GET')
    .option('--path <path>', 'the path, such as /details/0')
    .option('--host <host>', 'the Host header')
    .option('--via <way>', 'service, or pod: send the request to the Service, or straight to a pod')
    .addOption(autoAllowWaypoint())
    .addHelpText(
      'after',
      '\nExample:\n  meshstep -n bookinfo explain productpage details --port 9080 --method GET --path /details/0',
    )
    .action((from: string, to: string, options: Options, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const [client, target] = [from, to].map((name) => parseSideName(name, namespace))
        const answer = await server.get<Explanation>('/explain', { from: client, to: target, ...options })
        printAs(format, answer, ({ sentence }) => sentence)
        if (!answer.allowed) throw new Failure(answer.decided ? 'not allowed' : 'not decided', 2)
      }),
    )
}
