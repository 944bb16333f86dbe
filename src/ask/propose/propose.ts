import * as z from 'zod'
import { Refused } from '../../platform/base/errors.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { Application } from '../../platform/base/names.ts'
import type { TrafficView } from '../traffic/traffic.ts'
import { type Proposed, propose, type Wanted } from './proposal.ts'
import { type Reading, readCluster } from './read-cluster.ts'

const Query = z.object({
  application: z.array(Application),
  audit: z
    .enum(['true', 'false'], 'expected true or false')
    .transform((text) => text === 'true')
    .default(false),
})

type Asked = {
  /** The part of the query that is about traffic. */
  readonly traffic: URLSearchParams
  readonly wanted: Wanted
}

/** Parses the query for a proposal. It looks back a day if nothing else is said. Throws Refused, 400. */
export const readAsked = (query: URLSearchParams): Asked => {
  const { audit, application: _, ...traffic } = Object.fromEntries(query)
  const asked = parseInput(Query, { application: query.getAll('application'), audit }, 'query')
  const { application: names, audit: isAudit } = asked
  const wanted = { isAudit, ...(names.length > 0 && { applications: names }) }
  return { traffic: new URLSearchParams({ window: '24h', ...traffic }), wanted }
}

/** Proposes documents for the traffic of a namespace. Rejects with Refused, 404, for a wanted application that does not run. */
export const proposeFor = async (view: TrafficView, wanted: Wanted, reading: Reading): Promise<Proposed> => {
  const { namespace, flows } = view
  const clients = flows.map(({ from }) => from)
  const cluster = await readCluster(reading, namespace, clients)
  const unknown = wanted.applications?.find((name) => !cluster.applications.get(`${namespace}/${name}`)?.workload)
  if (unknown !== undefined)
    throw new Refused(404, `${namespace}/${unknown}: there is neither a StatefulSet nor a Deployment of this name`)
  return propose(view, cluster, wanted)
}
