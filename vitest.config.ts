import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/announce.ts'],
    setupFiles: ['test/seed.ts'],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
