// Runs its arguments with Node 24: this one if it is new enough, else one that npm has put beside it. Itself runs on Node 20.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'

const isNewEnough = Number.parseInt(process.versions.node, 10) >= 24

/** Among the dependencies of a checkout, or installed beside the package, which brings none. */
const findInstalled = () => {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

const program = isNewEnough ? process.execPath : findInstalled()
if (program === undefined) {
  process.stderr.write(`meshstep needs Node 24 or later, this is ${process.version}: install it.\n`)
  process.exit(1)
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  process.stderr.write(`${program} cannot be run (${error.message}): install Node 24 or later.\n`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
