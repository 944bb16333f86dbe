// Runs its arguments with this Node if it is new enough, else with a Node 24 that npm has installed. Itself runs on Node 20.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'

const [major, minor] = process.versions.node.split('.').map(Number)
/** Node 22.18 is the first that runs TypeScript as it is. */
const isNewEnough = major > 22 || (major === 22 && minor >= 18)

const name = `node-${process.platform}-${process.arch}`

/** A checkout has it among its dependencies. The package brings none, and finds one that is installed beside it. */
const findInstalled = () => {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/node`)
  } catch {
    return undefined
  }
}

const program = isNewEnough ? process.execPath : findInstalled()
if (program === undefined) {
  process.stderr.write(
    `meshstep needs Node 22.18 or later, this is ${process.version}: install it, or the package ${name}@24 beside meshstep.\n`,
  )
  process.exit(1)
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
// a terminal sends these to the child as well, and a second one would end it before it has cleaned up
const isSentToBoth = (signal) => process.stdin.isTTY && signal !== 'SIGTERM'
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    if (!isSentToBoth(signal)) child.kill(signal)
  })
child.on('error', (error) => {
  process.stderr.write(`${program} cannot be run (${error.message}): install Node 22.18 or later.\n`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
