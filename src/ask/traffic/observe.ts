import { observeDryRuns } from './dry-runs.ts'
import { expressionsFor } from './expressions.ts'
import type { Observed } from './flows.ts'
import type { QueryPrometheus } from './prometheus.ts'

/** Reads what proxies have counted of the traffic to a namespace in the last `seconds`. Rejects as a query of Prometheus does. */
export const observe = async (query: QueryPrometheus, namespace: string, seconds: number): Promise<Observed> => {
  const asked = expressionsFor(namespace, seconds)
  const [http, tcp, denied, covered, dryRuns] = await Promise.all([
    query(asked.http),
    query(asked.tcp),
    query(asked.denied),
    query(asked.covered),
    observeDryRuns(query, seconds),
  ])
  const [since] = covered.length > 0 ? covered : await query(asked.counted)
  return {
    ...{ http, tcp, denied },
    ...(since && { coveredSeconds: Math.max(0, Math.round(since.value)) }),
    ...(dryRuns && { dryRuns }),
  }
}
