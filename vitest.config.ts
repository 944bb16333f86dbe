import { defineConfig } from 'vitest/config'

/** Random histories, and real processes: minutes each. */
const SLOW = [
  'test/schedules/**',
  'test/explorer/**',
  'test/simulator/**',
  'test/process/**',
  'test/coordinated-workers/cluster-orders.test.ts',
  'test/reconcile/properties.test.ts',
  'test/service-mesh/guarded-always.test.ts',
]

/** `npm test` leaves the slow ones out; `TESTS=slow` runs these, and `TESTS=all` both. */
const { TESTS = 'quick' } = process.env

export default defineConfig({
  test: {
    include: (TESTS === 'slow' ? SLOW : ['test/**']).map((folder) => folder.replace(/\*\*$/, '**/*.test.ts')),
    exclude: ['node_modules/**', ...(TESTS === 'quick' ? SLOW : [])],
    globalSetup: ['test/helpers/announce.ts'],
    setupFiles: ['test/helpers/seed.ts'],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
