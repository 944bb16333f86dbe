import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The rows of the tables of threats: what is tried, what stops it, and the tests that show it. */
const rows = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  .split('## Threats')[1]
  ?.split('## Supply chain')[0]
  ?.split('\n')
  .filter((line) => /^\|(?! tries to \|| ---)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))

describe('the table of threats', () => {
  test('the table of threats has rows', () => {
    expect(rows?.length).toBeGreaterThan(25)
  })

  test.each(rows ?? [])('%sshows by a test that exists how nobody can %s', (_, __, stopped, shown = '') => {
    expect(stopped).not.toBe('')
    const files = [...shown.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file)
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) expect([file, existsSync(join(root, file))]).toEqual([file, true])
  })
})
