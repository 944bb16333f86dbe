import { Command, CommanderError, Option } from 'commander'
import about from '../../package.json' with { type: 'json' }
import { Refused } from '../platform/base/errors.ts'
import { completion } from './commands/completion.ts'
import { config } from './commands/config.ts'
import { expect } from './commands/expect.ts'
import { explain } from './commands/explain.ts'
import { get } from './commands/get.ts'
import { importFrom } from './commands/import.ts'
import { lint } from './commands/lint.ts'
import { map } from './commands/map.ts'
import { plan } from './commands/plan.ts'
import { record } from './commands/record.ts'
import { relate } from './commands/relate.ts'
import { replay } from './commands/replay.ts'
import { resend } from './commands/resend.ts'
import { send } from './commands/send.ts'
import { start } from './commands/start.ts'
import { tail } from './commands/tail.ts'
import { unrelate } from './commands/unrelate.ts'
import { Failure } from './failure.ts'
import { say } from './output.ts'

const program = new Command('meshstep')
  .description('Relates applications, and says what that does to who may reach whom.')
  .addOption(
    new Option('--server <url>', 'where the functions are').env('MESHSTEP_SERVER').default('http://localhost:8080'),
  )
  .addOption(
    new Option('-n, --namespace <name>', 'of applications that name none').env('MESHSTEP_NAMESPACE').default('default'),
  )
  .addOption(
    new Option('-o, --output <format>', 'table, json or yaml; of lint sarif as well; of map mermaid, svg or json'),
  )
  .addOption(new Option('--token <token>', 'for functions that ask for one').env('MESHSTEP_TOKEN'))
  .option('--context <name>', 'of kubectl: reach the functions of that cluster, by a port-forward')
  .option('--target <object>', 'what to forward to, [namespace/]kind/name', 'meshstep/service/meshstep')
  .addHelpText(
    'after',
    '\nExit codes: 0 done; 1 not done, and stderr says why; 2 access is lost, a request is refused, something was found, cannot be derived, or an expectation is not met; 3 it is not known if access is lost, and stderr says of what.\n\nExample:\n  meshstep -n bookinfo relate details:details productpage',
  )
  .version(about.version, '--version', 'print the version')
  .showHelpAfterError('(--help says more)')
  .exitOverride()

for (const command of [
  start,
  relate,
  unrelate,
  config,
  send,
  get,
  explain,
  plan,
  lint,
  expect,
  tail,
  map,
  record,
  replay,
  resend,
  importFrom,
  completion,
])
  command(program)
for (const command of program.commands) command.exitOverride()

// a pipe's reader may close it early, and the exit code must still be that of the result
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  setImmediate(() => process.exit(code === 'EPIPE' ? process.exitCode : 1)),
)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode
  else if (error instanceof Failure || error instanceof Refused) {
    const code = error instanceof Failure ? error.code : 1
    say(`${code === 1 ? 'error: ' : ''}${error.message}`)
    process.exitCode = code
  } else if (error instanceof Error && 'code' in error) {
    // an error of a file or a port, with the system's message
    say(`error: ${error.message}`)
    process.exitCode = 1
  } else throw error
}
