import type { MiddlewareHandler } from 'hono'
import { Refused } from '../../platform/base/errors.ts'
import { hostOrOriginProblem } from '../../platform/base/hosts.ts'

/** Refuses requests that a page of another host may have sent (403): those with a Host that is not in `names`, or an Origin that differs from the Host. */
export const checkHostAndOrigin =
  (names: readonly string[]): MiddlewareHandler =>
  async (context, next) => {
    const { host, origin } = context.req.header()
    const problem = hostOrOriginProblem({ host, origin }, names)
    if (problem !== undefined) throw new Refused(403, problem)
    await next()
  }
