import { defineConfig } from 'vitest/config'

/** Random histories and inputs, real processes, and the largest inputs. */
const SLOW = [
  'test/schedules/**',
  'test/explorer/**',
  'test/simulator/**',
  'test/process/**',
  'test/fuzz/**',
  'test/cli/juju/follow.test.ts',
  'test/contract/lives.test.ts',
  'test/contract/specs.test.ts',
  'test/contract/tenants.test.ts',
  'test/features/coordinated-workers/cluster-churn.test.ts',
  'test/features/coordinated-workers/cluster-mesh.test.ts',
  'test/features/coordinated-workers/cluster-nginx.test.ts',
  'test/features/coordinated-workers/cluster-orders.test.ts',
  'test/features/coordinated-workers/cluster-telemetry.test.ts',
  'test/features/coordinated-workers/nginx/prometheus.test.ts',
  'test/features/coordinated-workers/nginx/telemetry.test.ts',
  'test/embedded/api/kubectl.test.ts',
  'test/knative/image.test.ts',
  'test/knative/release.test.ts',
  'test/serve/page/browser.test.ts',
  'test/serve/page/map.test.ts',
  'test/site-browser.test.ts',
  'test/ask/preview/difference.test.ts',
  'test/ask/preview/histories.test.ts',
  'test/ask/preview/plan.test.ts',
  'test/ask/propose/property.test.ts',
  'test/ask/traffic/real-prometheus.test.ts',
  'test/core/reconcile/properties.test.ts',
  'test/core/relations/offers/offer-and-claim-large.test.ts',
  'test/core/relations/upgrades.test.ts',
  'test/serve/schemas/schemas.test.ts',
  'test/features/service-mesh/guarded-always.test.ts',
  'test/features/service-mesh/policy-bounds.test.ts',
  'test/features/service-mesh/policy-crash.test.ts',
]

/** Those of the others that take longest, so that `npm test` takes less than a minute. They share their imports as well. */
const LONG = [
  'test/ask/lint/findings.test.ts',
  'test/ask/preview/elsewhere.test.ts',
  'test/ask/propose/rules.test.ts',
  'test/core/access/document-authors.test.ts',
  'test/core/events/resync.test.ts',
  'test/core/reconcile/application-status.test.ts',
  'test/core/reconcile/full-memory.test.ts',
  'test/core/reconcile/rollout.test.ts',
  'test/core/relations/documents-again.test.ts',
  'test/core/relations/lost-memory.test.ts',
  'test/core/relations/told-and-ended.test.ts',
  'test/embedded/api/watch.test.ts',
  'test/features/coordinated-workers/cluster-calls.test.ts',
  'test/features/coordinated-workers/cluster-relation.test.ts',
  'test/features/coordinated-workers/nginx/gateway.test.ts',
  'test/features/service-mesh/never-refused.test.ts',
  'test/features/service-mesh/policy-calls.test.ts',
  'test/features/service-mesh/related.test.ts',
  'test/features/service-mesh/stock-istio.test.ts',
  'test/features/service-mesh/waypoint-switch.test.ts',
  'test/platform/kubernetes/transport.test.ts',
  'test/serve/http/explain.test.ts',
  'test/serve/page/page.test.ts',
]

/** `npm test` leaves the slow ones out; `TESTS=slow` runs these, and `TESTS=all` both. */
const { TESTS = 'quick' } = process.env

/** The quick ones share what they import, which costs more than most of them. */
export const QUICK = { include: ['test/**/*.test.ts'], exclude: ['node_modules/**', ...SLOW], isolate: false }

/** Each file of the slow ones has its own imports. */
const PROJECTS = [
  { name: 'quick', ...QUICK, exclude: [...QUICK.exclude, ...LONG] },
  { name: 'long', include: LONG, isolate: false },
  { name: 'slow', include: SLOW.map((folder) => folder.replace(/\*\*$/, '**/*.test.ts')), isolate: true },
]

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/announce.ts'],
    // slow files wait for other processes a third of their time, and then a third file can go on
    maxWorkers: TESTS === 'quick' ? 2 : 3,
    projects: PROJECTS.filter(({ name }) => TESTS === 'all' || (TESTS === 'quick') === (name === 'quick')).map(
      (project) => ({
        test: { ...project, setupFiles: ['test/helpers/seed.ts'], testTimeout: 900_000, hookTimeout: 300_000 },
      }),
    ),
  },
})
