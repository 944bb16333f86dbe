#!/usr/bin/env node
// What kubectl runs to complete `kubectl meshstep …`, as kubectl_complete-meshstep.
process.argv.splice(2, 0, '__complete')
await import('./meshstep.mjs')
