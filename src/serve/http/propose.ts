import * as z from 'zod'
import type { Proposed } from '../../ask/propose/propose.ts'
import { createAnswerQuery } from '../../core/access/answer-query.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { Features } from '../../core/feature/combine.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { Application } from '../../platform/base/names.ts'
import type { Traffic } from './traffic.ts'

/**
 * Proposes documents for the applications of a namespace, by the traffic that was seen. Rejects as `GET /traffic` does, and with Refused, 404, for an
 * application that does not exist.
 */
export type Propose = (
  query: URLSearchParams,
  authorization: string | undefined,
  observed?: Uint8Array,
) => Promise<Proposed>

type Dependencies = Parameters<typeof createAnswerQuery>[0] & {
  readonly features: Pick<Features, 'memories'>
  readonly traffic: Traffic
}

const Query = z.object({
  application: z.array(Application),
  audit: z
    .enum(['true', 'false'], 'expected true or false')
    .transform((text) => text === 'true')
    .default(false),
})

/** Each proposal reads several namespaces. */
const MOST_AT_ONCE = 2

const WINDOW = '24h'

export const createPropose = ({ traffic, features, ...dependencies }: Dependencies): Propose => {
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  return async (query, authorization, observed) => {
    const { audit, application: _, ...asked } = Object.fromEntries(query)
    const wanted = Query.safeParse({ application: query.getAll('application'), audit })
    if (!wanted.success) throw new Refused(400, `query: ${describeIssues(wanted.error)}`)
    const view = await traffic(new URLSearchParams({ window: WINDOW, ...asked }), authorization, observed)
    return await answerQuery(authorization, async ({ kubernetes, sender }) => {
      const { propose, readCluster } = await loadPropose()
      const sees = (namespace: string) => maySee(sender, { namespace })
      const reading = { memories: features.memories, kubernetes, sees }
      const cluster = await readCluster(
        reading,
        view.namespace,
        view.flows.map(({ from }) => from),
      )
      const { application: names, audit: isAudit } = wanted.data
      const unknown = names.find((name) => cluster.applications.get(`${view.namespace}/${name}`)?.runs === undefined)
      if (unknown !== undefined)
        throw new Refused(
          404,
          `${view.namespace}/${unknown}: there is neither a StatefulSet nor a Deployment of this name`,
        )
      return propose(view, cluster, { isAudit, ...(names.length > 0 && { applications: names }) })
    })
  }
}

/** Events need no proposals, so they are loaded when they are asked for. */
const loadPropose = () => import('../../ask/propose/propose.ts')
