import { runLocal } from './cli/local.ts'

await runLocal(process.argv.slice(2))
