import { Command } from 'commander'
import { withSaid } from './cli/commands/start.ts'
import { runLocal, type Said } from './cli/local.ts'

await withSaid(new Command('npm start --'))
  .argument('[functions...]', 'the functions to serve, all when there is none')
  .action((names: string[], said: Said) => runLocal(names, said))
  .parseAsync()
