import { runLocal } from './http/local.ts'

await runLocal(process.argv.slice(2))
