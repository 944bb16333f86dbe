import { Command, CommanderError, Option } from 'commander'
import about from '../../package.json' with { type: 'json' }
import { isConfigurationError, isRefused, isUnavailable } from '../platform/base/errors.ts'
import { check } from './commands/check.ts'
import { completion } from './commands/completion.ts'
import { config } from './commands/config.ts'
import { expect } from './commands/expect.ts'
import { explain } from './commands/explain.ts'
import { get } from './commands/get.ts'
import { juju } from './commands/juju.ts'
import { lint } from './commands/lint.ts'
import { map } from './commands/map.ts'
import { plan } from './commands/plan.ts'
import { propose } from './commands/propose.ts'
import { record } from './commands/record.ts'
import { relate } from './commands/relate.ts'
import { remove } from './commands/remove.ts'
import { replay } from './commands/replay.ts'
import { resend } from './commands/resend.ts'
import { send } from './commands/send.ts'
import { start } from './commands/start.ts'
import { tail } from './commands/tail.ts'
import { traffic } from './commands/traffic.ts'
import { unrelate } from './commands/unrelate.ts'
import { version } from './commands/version.ts'
import { wait } from './commands/wait.ts'
import { Failure } from './failure.ts'
import { parseAddress, programOptions } from './options.ts'
import { say } from './output.ts'

const program = new Command('meshstep')
  .description('Relates applications, and shows how that changes which of them may reach which.')
  .addOption(
    new Option('--server <url>', 'the URL of the functions')
      .env('MESHSTEP_SERVER')
      .default('http://localhost:8080')
      .argParser(parseAddress),
  )
  .addOption(
    new Option('-n, --namespace <name>', 'the namespace of names without one')
      .env('MESHSTEP_NAMESPACE')
      .default('default'),
  )
  .addOption(
    new Option(
      '-o, --output <format>',
      'table, wide, name, json, yaml or jsonpath=TEMPLATE; for lint also sarif; for map mermaid, svg or json; for traffic also mermaid',
    ),
  )
  .option('--no-headers', 'tables without their titles')
  .addOption(new Option('--token <token>', 'a bearer token, if the functions require one').env('MESHSTEP_TOKEN'))
  .addOption(new Option('--token-file <path>', 'a file with that token').env('MESHSTEP_TOKEN_FILE'))
  .option('--kubeconfig <file>', 'the file with the contexts of kubectl')
  .option('--context <name>', 'a context of kubectl: reach the functions of its cluster through a port-forward')
  .option('--target <object>', 'the target of the port-forward, [namespace/]kind/name', 'meshstep/service/meshstep')
  .addHelpText(
    'after',
    '\nExit codes: 0 success; 1 failure, with the reason on stderr; 2 access is lost, a request or an event is refused, lint found a mistake, a relation cannot be derived, or an expectation is not met; 3 it is not known if access is lost, with the reasons on stderr.\n\nExample:\n  meshstep -n bookinfo relate details:details productpage',
  )
  .version(about.version, '--version', 'print the version')
  .configureHelp({ showGlobalOptions: true, visibleGlobalOptions: programOptions })
  .showHelpAfterError('(see --help)')
  .exitOverride()

for (const command of [
  start,
  relate,
  unrelate,
  remove,
  config,
  send,
  get,
  wait,
  explain,
  plan,
  lint,
  check,
  expect,
  tail,
  map,
  traffic,
  propose,
  record,
  replay,
  resend,
  juju,
  completion,
  version,
])
  command(program)
for (const command of program.commands) command.exitOverride()

// a pipe's reader may close it early, and the exit code must still be that of the result
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  setImmediate(() => process.exit(code === 'EPIPE' ? process.exitCode : 1)),
)

// a variable that is empty, as a pipeline sets it, is not set
for (const name of Object.keys(process.env))
  if (name.startsWith('MESHSTEP_') && process.env[name] === '') delete process.env[name]

// without a top-level await, which a single executable cannot have
program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exitCode = error.exitCode
  else if (error instanceof Failure || isRefused(error) || isUnavailable(error) || isConfigurationError(error)) {
    const code = error instanceof Failure ? error.code : 1
    say(`${code === 1 ? 'error: ' : ''}${error.message}`)
    process.exitCode = code
  } else if (error instanceof Error && 'code' in error) {
    // an error of a file or a port, with the system's message
    say(`error: ${error.message}`)
    process.exitCode = 1
  } else throw error
})
