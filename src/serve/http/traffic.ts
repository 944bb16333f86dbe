import * as z from 'zod'
import type { Observed } from '../../ask/traffic/flows.ts'
import type { PrometheusSettings } from '../../ask/traffic/prometheus.ts'
import type { TrafficView } from '../../ask/traffic/traffic.ts'
import { Window } from '../../ask/traffic/window.ts'
import { createAnswerQuery } from '../../ask/views/answer-query.ts'
import { maySee } from '../../core/access/visibility.ts'
import { Refused } from '../../platform/base/errors.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import { parseJson } from '../../platform/base/structured-text.ts'
import { type ApplicationView, createApplications } from './applications.ts'
import type { Settings } from './settings.ts'

/**
 * Answers who talked to the applications of a namespace, by what was `observed`, JSON, or by the Prometheus of PROMETHEUS_URL. Rejects with Refused, 404,
 * without either, 400 for invalid input, and 401 or 403 if the sender may not send events about the whole namespace; else as Prometheus does.
 */
export type Traffic = (
  query: URLSearchParams,
  authorization: string | undefined,
  observed?: Uint8Array,
) => Promise<TrafficView>

type Dependencies = Parameters<typeof createApplications>[0] & {
  readonly settings: Pick<
    Settings,
    'PROMETHEUS_URL' | 'PROMETHEUS_TOKEN_FILE' | 'PROMETHEUS_HEADERS_FILE' | 'PROMETHEUS_CA_FILE'
  >
}

const Query = z.strictObject({ namespace: Namespace, window: Window.default('1h') })

/** Sums of counts stay exact, and finite. */
const Count = z
  .number()
  .nonnegative()
  .max(2 ** 40)
const Counted = z.array(z.strictObject({ labels: z.record(z.string(), z.string()), value: Count }))
const ObservedBody = z.strictObject({
  ...{ http: Counted, tcp: Counted, denied: Counted },
  coveredSeconds: z.number().nonnegative().optional(),
  dryRuns: Counted.optional(),
})

/** Each question reads a whole namespace, and much of Prometheus. */
const MOST_AT_ONCE = 4

export const createTraffic = ({ settings, ...dependencies }: Dependencies): Traffic => {
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  const { authenticate: _, ...known } = dependencies
  return async (query, authorization, body) => {
    const source = body === undefined ? prometheusOf(settings) : readObserved(body)
    const asked = parseInput(Query, Object.fromEntries(query), 'query')
    return await answerQuery(authorization, async ({ kubernetes, sender }) => {
      await sender?.authorize({ namespace: asked.namespace })
      const { observeTraffic, readingLists, readTrafficCluster } = await loadTraffic()
      return await observeTraffic({ ...asked, source }, async () => {
        const { namespace } = asked
        const reading = readingLists(kubernetes)
        const views = await createApplications({ ...known, connect: () => reading }).all({ namespace })
        return await readTrafficCluster(namespace, {
          ...{ kubernetes: reading, memories: known.features.memories, sees: (about) => maySee(sender, about) },
          views: views.filter((one): one is ApplicationView => !('problem' in one)),
        })
      })
    })
  }
}

const prometheusOf = (settings: Dependencies['settings']): PrometheusSettings => {
  const { PROMETHEUS_URL: url, PROMETHEUS_TOKEN_FILE: tokenFile, PROMETHEUS_CA_FILE: caFile } = settings
  if (url !== undefined) return { url, tokenFile, headersFile: settings.PROMETHEUS_HEADERS_FILE, caFile }
  throw new Refused(
    404,
    'GET /traffic: the functions know no Prometheus: set PROMETHEUS_URL, or start --prometheus, or name one to the command with --prometheus',
  )
}

const readObserved = (body: Uint8Array): Observed => {
  const given = parseJson(new TextDecoder().decode(body))
  if (given === undefined) throw new Refused(400, 'body: expected JSON')
  return parseInput(ObservedBody, given, 'body')
}

/** Events need no traffic, so it is loaded when it is asked for. */
const loadTraffic = () => import('../../ask/traffic/traffic.ts')
