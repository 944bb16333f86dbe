import { createPreview } from '../../src/ask/preview/preview.ts'
import { features } from '../../src/features.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createKubernetes, type Transport } from '../../src/platform/kubernetes/client.ts'
import { DENY_EVERYTHING, largeWorld } from '../ask/preview/large.ts'
import { functions } from '../helpers/functions.ts'
import { serving } from './serving.ts'

/** Plans that the root namespace denies everything, in a cluster of as many applications as the argument says, and prints what that took. */
const transport: Transport = serving(largeWorld(Number(process.argv[2])))
const preview = createPreview({
  ...{ features, functions, transport, clock: systemClock, environment: { resolver: '10.96.0.10' } },
  connect: (deadline) => createKubernetes({ transport, clock: systemClock, deadline }),
  timeoutMilliseconds: 120_000,
})
// from its sources, which a bundle is not
await import('../../src/ask/preview/comparison.ts')
const [began, used] = [performance.now(), process.cpuUsage()]
const { access, incomplete } = await preview({ events: [], objects: [DENY_EVERYTHING], expectations: [] }, {})
const [milliseconds, { user, system }] = [performance.now() - began, process.cpuUsage(used)]
const lost = access.reduce((sum, { count }) => sum + count, 0)
const megabytes = process.resourceUsage().maxRSS / 1_024
process.stdout.write(
  JSON.stringify({ milliseconds, cpu: (user + system) / 1_000, megabytes, lost, incomplete: incomplete.length }),
)
