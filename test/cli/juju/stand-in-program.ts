import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answer } from './stand-in.ts'

/** Answers as `juju` would, of the world in a file of JUJU_DATA. */
const world = JSON.parse(readFileSync(join(process.env.JUJU_DATA ?? '', 'world.json'), 'utf8'))
const { code, stdout, stderr } = answer(world, process.argv.slice(2))
process.stdout.write(stdout)
process.stderr.write(stderr)
process.exitCode = code
