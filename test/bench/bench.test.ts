import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { figureOf, markdown } from './figures.ts'
import { tracePath } from './path.ts'
import { plot } from './plot.ts'
import { createQuota } from './quota.ts'
import { simulate } from './simulate.ts'

const COSTS = { cpu: 10, wait: 90, calls: 4, writes: 0, start: 2_000 }

test('a figure is the middle of several, and the middle half', () => {
  expect(figureOf([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 2, high: 4 })
})

test('a table has the columns of its first row', () => {
  const table = markdown({ title: 'T', rows: [{ a: 'x', b: { median: 12.4, low: 1.23, high: 20 } }] })
  expect(table).toBe('## T\n\n| a | b |\n| --- | --- |\n| x | 12 (1.2–20) |\n')
})

test('a table without rows is its note', () => {
  expect(markdown({ title: 'T', note: 'Not measured.', rows: [] })).toBe('## T\n\nNot measured.\n\n')
})

test('a process with a quota runs in a control group of its own, which is gone afterwards', async ({ skip }) => {
  const quota = await createQuota(0.25)
  if (!quota) return skip('no control group can be made here')
  const [program = '', ...rest] = quota.enter
  const { stdout } = await promisify(execFile)(program, [...rest, 'cat', '/proc/self/cgroup'])
  expect(stdout).toContain('meshstep-test-')
  await quota.remove()
  await expect(promisify(execFile)(program, [...rest, 'true'])).rejects.toThrow()
})

test('a plot draws a cost that grows with size as a diagonal', () => {
  const svg = plot('Growth', { x: 'size', y: 'ms' }, [
    {
      name: 'a < b',
      points: [
        [1, 10],
        [100, 1_000],
      ],
    },
  ])
  expect(svg).toContain('points="60.0,310.0 430.0,40.0"')
  expect(svg).toContain('a &lt; b')
})

test('events that come seldom meet a cold start each, and those that come often none', () => {
  const [seldom, often] = [0.001, 1].map((rate) => simulate({ rate, seconds: 36_000, concurrency: 20 }, COSTS))
  expect(seldom?.cold).toBeGreaterThan(0.9)
  expect(seldom?.median).toBe(COSTS.start + COSTS.wait + COSTS.cpu)
  expect(often?.cold).toBeLessThan(0.01)
  expect(often?.median).toBe(COSTS.wait + COSTS.cpu)
})

test('as many pods are there as the events in flight ask for', () => {
  const [one, many] = [1, 20].map((concurrency) => simulate({ rate: 100, seconds: 300, concurrency }, COSTS))
  expect(one?.pods).toBeGreaterThan(5 * (many?.pods ?? 0))
})

test('the path of a piece of work has the functions that it calls, and no other', async () => {
  const { describeCondition } = await import('../../src/platform/base/condition.ts')
  const { isLoopback } = await import('../../src/platform/base/hosts.ts')
  isLoopback('127.0.0.1')
  const ran = await tracePath(async () => describeCondition({ message: 'a: waits' }))
  const names = ran.map(({ file, name, calls }) => `${file} ${name} ${calls}`)
  expect(names).toContain('src/platform/base/condition.ts describeCondition 1')
  expect(names).not.toContain('src/platform/base/hosts.ts isLoopback 1')
})
