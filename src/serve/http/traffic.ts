import * as z from 'zod'
import { parseSide } from '../../ask/authorization/side.ts'
import { accessNow } from '../../ask/preview/access.ts'
import type { AccessNow } from '../../ask/traffic/classify.ts'
import type { TrafficView } from '../../ask/traffic/traffic.ts'
import { type Asker, createAnswerQuery } from '../../core/access/answer-query.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { ifPermitted, ifServed } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type ApplicationView, createApplications } from './applications.ts'
import { readingLists } from './listed.ts'
import type { Settings } from './settings.ts'

/**
 * Answers who talked to the applications of a namespace. Rejects with Refused, 404, without PROMETHEUS_URL, and 401 or 403 if the sender may not send events
 * about the whole namespace; else as Prometheus does.
 */
export type Traffic = (query: URLSearchParams, authorization: string | undefined) => Promise<TrafficView>

type Dependencies = Parameters<typeof createApplications>[0] & {
  readonly settings: Pick<Settings, 'PROMETHEUS_URL' | 'PROMETHEUS_TOKEN_FILE' | 'PROMETHEUS_CA_FILE'>
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
/** Below a minute there are too few samples. Prometheus keeps 15 days by default, and the window before is read as well. */
const [SHORTEST, LONGEST] = [60, 7 * 86_400]

const secondsIn = (window: string): number => Number(window.slice(0, -1)) * (SECONDS[window.slice(-1)] ?? Number.NaN)

const Query = z.strictObject({
  namespace: Namespace,
  window: z
    .string()
    .regex(/^\d{1,6}[smhd]$/, 'expected a number with s, m, h or d, such as 1h')
    .refine((text) => secondsIn(text) >= SHORTEST && secondsIn(text) <= LONGEST, 'expected from 1m to 7d')
    .default('1h'),
})

/** Each question reads a whole namespace, and much of Prometheus. */
const MOST_AT_ONCE = 4

export const createTraffic = ({ settings, ...dependencies }: Dependencies): Traffic => {
  const { PROMETHEUS_URL: url, PROMETHEUS_TOKEN_FILE: tokenFile, PROMETHEUS_CA_FILE: caFile } = settings
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  const answer = async (query: z.infer<typeof Query>, prometheusUrl: string, { kubernetes, sender }: Asker) => {
    await sender?.authorize({ namespace: query.namespace })
    const { observeTraffic } = await loadTraffic()
    const asked = { ...query, seconds: secondsIn(query.window), prometheus: { url: prometheusUrl, tokenFile, caFile } }
    return await observeTraffic(asked, () => readCluster(query.namespace, dependencies, readingLists(kubernetes)))
  }
  return async (query, authorization) => {
    if (url === undefined)
      throw new Refused(
        404,
        'GET /traffic: this process knows no Prometheus: set PROMETHEUS_URL, or start --prometheus',
      )
    const parsed = Query.safeParse(Object.fromEntries(query))
    if (!parsed.success) throw new Refused(400, `query: ${describeIssues(parsed.error)}`)
    return await answerQuery(authorization, (asker) => answer(parsed.data, url, asker))
  }
}

/** Events need no traffic, so it is loaded when it is asked for. */
const loadTraffic = () => import('../../ask/traffic/traffic.ts')

const readCluster = async (
  namespace: string,
  { authenticate: _, ...dependencies }: Omit<Dependencies, 'settings'>,
  kubernetes: Kubernetes,
) => {
  const applications = createApplications({ ...dependencies, connect: () => kubernetes })
  const all = await applications.all({ namespace })
  const gateways = (await ifPermitted(ifServed(kubernetes.list('Gateway', undefined)))) ?? []
  const reading = { memories: dependencies.features.memories, kubernetes }
  const open = new Map<string, Promise<boolean>>()
  const isOpen = (to: string): Promise<boolean> => {
    const found = open.get(to) ?? passing(undefined, to, reading).then((verdicts) => verdicts.includes('allowed'))
    open.set(to, found)
    return found
  }
  const access = async (from: string | undefined, to: string): Promise<AccessNow> => {
    if (await isOpen(to)) return 'open'
    const verdicts = from === undefined ? [] : await passing(from, to, reading)
    if (verdicts.includes('allowed')) return 'allowed'
    return verdicts.includes('undecided') ? 'unknown' : 'none'
  }
  return { views: all.filter((one): one is ApplicationView => !('problem' in one)), gateways, access }
}

/** Lists the verdicts on requests of a client through the Service of that name. A side that does not exist passes nothing. */
const passing = async (from: string | undefined, to: string, reading: Parameters<typeof accessNow>[2]) => {
  try {
    const [client, target]: (Subject | undefined)[] = [from === undefined ? undefined : parseSide(from), parseSide(to)]
    return target === undefined ? [] : (await accessNow(client, target, reading)).map(({ after }) => after)
  } catch (error) {
    if (error instanceof Refused) return []
    throw error
  }
}
