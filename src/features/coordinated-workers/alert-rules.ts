import * as z from 'zod'
import type { JujuTopology } from './nginx/scrape-jobs.ts'

const A_DURATION = 'expected a duration, as 5m or 1h30m'
const Duration = z.string(A_DURATION).regex(/^(\d+(ms|[smhdwy]))+$/, A_DURATION)

const A_LABEL = 'expected a label: letters, digits and underscores, and no digit first'
const Labels = z.record(z.string().regex(/^[a-zA-Z_]\w*$/, A_LABEL), z.string())

const A_METRIC = 'expected the name of a metric'

/** A rule of Prometheus or Loki. In `expr`, `%%juju_topology%%` stands for the labels of its application. */
const Rule = z.union(
  [
    z.strictObject({
      alert: z.string().min(1),
      expr: z.string().min(1),
      for: Duration.optional(),
      labels: Labels.optional(),
      annotations: Labels.optional(),
    }),
    z.strictObject({
      record: z.string(A_METRIC).regex(/^[a-zA-Z_:][\w:]*$/, A_METRIC),
      expr: z.string().min(1),
      labels: Labels.optional(),
    }),
  ],
  'expected a rule: alert and expr, with for, labels and annotations, or record and expr, with labels',
)

const Group = z.strictObject({
  name: z.string().min(1).max(253),
  interval: Duration.optional(),
  rules: z.array(Rule).min(1, 'expected a rule at least'),
})

const Groups = z.array(Group)
const ByKind = z.strictObject({
  metrics: Groups.optional(),
  logs: Groups.optional(),
})

/** Groups of rules in the format of Prometheus and Loki, for each application of workers or for the coordinator. */
export const AlertRules = z.strictObject({ workers: ByKind.optional(), coordinator: ByKind.optional() })
export type AlertRules = z.infer<typeof AlertRules>

type Group = z.infer<typeof Group>

/** The labels that identify the source of a metric or a log. */
type Labels = Readonly<Record<string, string>>

/**
 * Builds the rules to publish to Prometheus (`metrics`) or Loki (`logs`), or undefined for none. Each rule and its expression get the labels of an
 * application. The order of applications is kept.
 */
export const alertRules = (
  rules: AlertRules | undefined,
  kind: 'metrics' | 'logs',
  { coordinator, workers }: { readonly coordinator: JujuTopology; readonly workers: readonly JujuTopology[] },
): { groups: Group[] } | undefined => {
  const groups = [
    ...groupsFor(rules?.coordinator?.[kind], coordinator),
    ...workers.flatMap((worker) => groupsFor(rules?.workers?.[kind], worker)),
  ]
  return groups.length === 0 ? undefined : { groups }
}

const groupsFor = (groups: readonly Group[] = [], topology: JujuTopology): Group[] => {
  const labels = topologyLabels(topology)
  return groups.map(({ name, rules, ...group }) => ({
    name: `${topology.model}_${topology.application}_${name}`,
    ...group,
    rules: rules.map((rule) => ({
      ...rule,
      expr: rule.expr.replaceAll('%%juju_topology%%', () => topologySelector(labels)),
      labels: { ...rule.labels, ...labels },
    })),
  }))
}

const topologyLabels = ({ model, modelUuid, application, charm }: JujuTopology): Labels => ({
  juju_model: model,
  ...(modelUuid !== undefined && { juju_model_uuid: modelUuid }),
  juju_application: application,
  juju_charm: charm,
})

/** Formats labels as a selector. Strings of PromQL and LogQL have JSON's double quotes and escapes. */
const topologySelector = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(', ')
