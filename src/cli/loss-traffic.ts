import type { Plan } from '../ask/preview/preview.ts'
import {
  HOUR,
  type Judged,
  judgeLosses,
  mayBeLost,
  NO_PORT,
  notCompared,
  type Recent,
  useOf,
  WEEK,
} from '../ask/traffic/losses.ts'
import type { TrafficView } from '../ask/traffic/traffic.ts'
import { isConfigurationError, isRefused, isUnavailable } from '../platform/base/errors.ts'
import { namespaceOf } from '../platform/base/subject.ts'
import { askTraffic, type PrometheusOptions } from './ask-traffic.ts'
import { Failure } from './failure.ts'
import { ErrorAnswer, type Server } from './server.ts'

/** A plan in which each access that may be lost has its traffic, where a Prometheus is known. */
export type JudgedPlan = Omit<Plan, 'access'> & {
  readonly access: readonly Judged[]
  /** Sentences about clients that used a target of a loss, and that the plan did not compare. */
  readonly notCompared?: readonly string[]
}

/** The limit of namespaces that traffic is asked about. The traffic to others is not known. */
const MOST_NAMESPACES = 20

/** Adds their traffic to the losses of a plan. Returns the plan as it is if nothing is lost, or neither the command nor the functions know a Prometheus. */
export const withTraffic = async (plan: Plan, server: Server, options: PrometheusOptions): Promise<JudgedPlan> => {
  const lost = plan.access.filter(mayBeLost)
  const namespaces = [...new Set(lost.map(({ to }) => namespaceOf(to)))]
  const recent = new Map<string, Recent>()
  const problems = new Set<string>()
  const ask = async (namespace: string, window: string): Promise<TrafficView | undefined> =>
    await askTraffic(server, options, { namespace, window }).catch((error: unknown) => {
      if (isNoPrometheus(error, options) || !isAnswered(error)) throw error
      problems.add(`the traffic to ${namespace} in the last ${window} is not known: ${error.message}`)
      return undefined
    })
  try {
    for (const namespace of namespaces.slice(0, MOST_NAMESPACES)) {
      const hour = await ask(namespace, HOUR)
      const isTold =
        hour === undefined ||
        lost.every((one) => namespaceOf(one.to) !== namespace || useOf(one, { hour }).is === 'used')
      recent.set(namespace, { hour, week: isTold ? undefined : await ask(namespace, WEEK) })
    }
  } catch (error) {
    if (isNoPrometheus(error, options)) return plan
    throw error
  }
  if (namespaces.length === 0) return plan
  if (namespaces.length > MOST_NAMESPACES)
    problems.add(`the traffic to ${namespaces.length - MOST_NAMESPACES} more namespaces was not asked for`)
  const others = notCompared(plan.access, recent)
  return {
    ...plan,
    access: judgeLosses(plan.access, recent),
    ...(others.length > 0 && { notCompared: others }),
    messages: [...plan.messages, ...others, ...problems, NO_PORT],
  }
}

/** The functions answer so before anything else. */
const isNoPrometheus = (error: unknown, { prometheus }: PrometheusOptions): boolean =>
  prometheus === undefined && error instanceof ErrorAnswer && error.status === 404

/** Tells if an error says why there is no traffic. The plan is worth printing without it. */
const isAnswered = (error: unknown): error is Error =>
  error instanceof Failure || isRefused(error) || isUnavailable(error) || isConfigurationError(error)
