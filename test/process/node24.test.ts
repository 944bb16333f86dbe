import { spawnSync } from 'node:child_process'
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
