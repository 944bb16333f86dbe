#!/usr/bin/env node
// Runs the command: its sources where they are, in a checkout, else as the package has them, compiled. Itself runs on Node 20.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url))
const sources = fileOf('src/cli/main.ts')

// a command that has run before starts in half the time
process.env.NODE_COMPILE_CACHE ??= join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'meshstep')
// kubectl runs its plugins by their names
process.env.MESHSTEP_NAME = basename(process.argv[1])
process.argv.splice(2, 0, existsSync(sources) ? sources : fileOf('lib/meshstep.js'))
await import('./node24.mjs')
