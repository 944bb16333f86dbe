import type { MiddlewareHandler } from 'hono'
import { Refused } from '../../platform/base/errors.ts'
import { hostOrOriginProblem } from '../../platform/base/hosts.ts'

/** Refuses what a page of somebody else may have asked (403): a Host that is not among `names`, or an Origin that is not the Host. */
export const checkHostAndOrigin =
  (names: readonly string[]): MiddlewareHandler =>
  async (context, next) => {
    const { host, origin } = context.req.header()
    const problem = hostOrOriginProblem({ host, origin }, names)
    if (problem !== undefined) throw new Refused(403, problem)
    await next()
  }
