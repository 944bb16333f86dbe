import type { Plan } from '../ask/preview/preview.ts'
import { type Handled, isWithinMemory } from '../core/reconcile/outcome.ts'
import { eventOf } from '../serve/page/relating.ts'
import type { DryRunOptions } from './dry-run.ts'
import { withTraffic } from './loss-traffic.ts'
import type { Settings } from './options.ts'
import { type Format, isForPeople, printAs, say } from './output.ts'
import { printPlan, whilePlanning } from './plan.ts'

export type Sent = {
  /** `config-changed`, or a full type. */
  readonly type: string
  readonly subject: string
  readonly data?: unknown
}

const STRUCTURED = 'application/cloudevents+json'

/** Sends an event, and prints its effect, or with a dry run the planned effect. */
export const send = async (
  { server, format }: Settings,
  sent: Sent,
  { dryRun, failOn, ...prometheus }: DryRunOptions,
): Promise<void> => {
  const event = eventOf(sent)
  if (!dryRun) return printSteps(format, await server.post<Handled>('/', STRUCTURED, event))
  const plan = await whilePlanning(server.post<Plan>('/plan', STRUCTURED, event))
  printPlan(format, await withTraffic(plan, server, prometheus), { failOn })
}

/** Prints a row for the step, and one for each following step with an effect. A row lists the written objects without memories. */
const printSteps = (format: Format, handled: Handled): void => {
  const steps = [handled, ...(handled.effects ?? [])]
  const shown = steps.filter(({ status }, index) => index === 0 || !isWithinMemory(status))
  const rows = shown.map(({ namespace, application, status, written, removed = [], conflicts }) => [
    [namespace, application].filter((part) => part !== undefined).join('/'),
    status,
    [
      ...written.filter(isTold).map((name) => (removed.includes(name) ? `- ${name}` : name)),
      ...conflicts.map(
        (conflict) =>
          `conflict with ${conflict.manager}: ${conflict.object}${'key' in conflict ? ` ${conflict.key}` : ''}`,
      ),
    ].join('\n'),
  ])
  printAs(format, handled, () => ({ titles: ['APPLICATION', 'STATUS', 'WROTE'], rows }))
  if (!isForPeople(format)) return
  for (const message of new Set(steps.flatMap(({ messages }) => messages))) say(message)
}

/** Tells if an object is worth reporting. A memory is internal. */
export const isTold = (name: string): boolean => !/^ConfigMap .*\/juju-service-mesh-.*-labels$/.test(name)
