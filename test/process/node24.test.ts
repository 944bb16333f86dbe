import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { becauseOfNode, olderNode } from './older-node.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = (node: string, ...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(node, words, { cwd: root, encoding: 'utf8' })
  return { status, stdout: stdout.trim(), stderr: stderr.trim() }
}

test('a script is run with Node 24, and ends as it ends', () => {
  const { status, stdout } = run(
    process.execPath,
    'node24.mjs',
    '-e',
    'console.log(process.version); process.exitCode = 7',
  )
  expect({ status, stdout }).toEqual({ status: 7, stdout: process.version })
})

test('npm says of the package and of the checkout which Node they need, as the programs do', () => {
  const read = (file: string) => readFileSync(`${root}/${file}`, 'utf8')
  const enginesOf = (file: string): unknown => JSON.parse(read(file)).engines.node
  expect([enginesOf('package.json'), enginesOf('tools/node24/older/package.json')]).toEqual(['>=22.18', '<22.18'])
  expect(read('node24.mjs')).toContain('meshstep needs Node 22.18 or later')
})

const PRESS_INTERRUPT = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
shown = b''
while b'ready' not in shown: shown += os.read(terminal, 1024)
os.write(terminal, b'\\x03')
try:
    while True:
        part = os.read(terminal, 1024)
        if not part: break
        shown += part
except OSError: pass
print(shown.decode())
`
const COUNT_INTERRUPTS = `let times = 0; process.on('SIGINT', () => (times += 1)); console.log('ready'); setTimeout(() => {}, 60_000).unref();
const timer = setInterval(() => { if (times > 0) { clearInterval(timer); setTimeout(() => console.log('interrupted ' + times), 300) } }, 10)`
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0

test.skipIf(!hasPython)(
  `Ctrl-C at a terminal reaches a script once${hasPython ? '' : ': skipped, there is no python3 here'}`,
  () => {
    const words = [process.execPath, 'node24.mjs', '-e', COUNT_INTERRUPTS]
    expect(run('python3', '-c', PRESS_INTERRUPT, ...words).stdout).toContain('interrupted 1')
  },
)

test.skipIf(!olderNode)(`an older node finds the one among the dependencies${becauseOfNode}`, () => {
  expect(run(String(olderNode), 'node24.mjs', '-p', 'process.versions.node').stdout).toMatch(/^24\./)
})

test.skipIf(!olderNode)(`an older node is told what the bundle needs${becauseOfNode}`, () => {
  const { status, stderr } = run(String(olderNode), 'dist/server.cjs')
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^meshstep needs Node 24 or later, this is v\d+/),
  })
})
