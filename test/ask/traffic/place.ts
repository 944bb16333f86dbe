import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { createApp } from '../../../src/serve/http/app.ts'
import { createTraffic } from '../../../src/serve/http/traffic.ts'
import type { Place } from '../preview/planned.ts'

const silent = () => undefined

/** Answers `GET /traffic` about the applications of a place, as a user with the right to `shop` if `isAuthenticated`. */
export const trafficApp = ({ api, clock }: Place, url: string | undefined, isAuthenticated = false) => {
  const traffic = createTraffic({
    settings: { PROMETHEUS_URL: url },
    ...{ features, clock, environment: { resolver: '10.96.0.10' }, timeoutMilliseconds: 10_000 },
    connect: (deadline) => createKubernetes({ transport: async (request) => api.handle(request), clock, deadline }),
    ...(isAuthenticated && { authenticate: createAuthenticate({ audience: 'meshstep', clock }) }),
  })
  return createApp({ traffic, clock, log: { info: silent, warn: silent, error: silent } })
}
