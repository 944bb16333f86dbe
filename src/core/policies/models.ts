import * as z from 'zod'
import { chosenSchema } from '../../platform/base/chosen-schema.ts'
import { isRecord } from '../../platform/base/own-value.ts'
import { labelProblem } from '../../platform/kubernetes/label-syntax.ts'
import { Endpoint, httpFields, MeshEndpoint, Ports } from './endpoint.ts'

const RelationEndpoint = z.string().min(1).max(253)

/** Config: the peer of `relation` may use these endpoints of the application's Service. An empty list allows all of it. */
export const AppPolicy = z.strictObject({
  type: z.literal('app'),
  relation: RelationEndpoint,
  endpoints: z.array(Endpoint),
  service: z.string().min(1).nullish(),
})
export type AppPolicy = z.infer<typeof AppPolicy>

/** Config: the peer of `relation` may reach the application's pods on these ports. Without ports, on all of them. */
export const UnitPolicy = z.strictObject({
  type: z.literal('unit'),
  relation: RelationEndpoint,
  ports: Ports.nullish(),
})
export type UnitPolicy = z.infer<typeof UnitPolicy>

/** A policy of an application, in terms of its relations. */
export const Policy = z.discriminatedUnion('type', [AppPolicy, UnitPolicy])
export type Policy = z.infer<typeof Policy>

/** The value of `policies` that derives them from the relations, instead of a list. */
export const RELATED = 'related'

const Related = z.literal(RELATED, `expected ${RELATED}, or a list of policies`)

/** Config: a list of policies, or `related`. */
export const Policies = chosenSchema<z.infer<typeof Related> | Policy[]>((value) =>
  typeof value === 'string' ? Related : z.array(Policy),
)
export type Policies = z.infer<typeof Policies>

/** Returns the policies that a config lists. With `related` it lists none. */
export const listedPolicies = (policies: Policies | undefined): readonly Policy[] =>
  policies === undefined || policies === RELATED ? [] : policies

/** The labels of a selector, checked key by key in place: a copy would lose a key named `__proto__`, and so select more. */
const SelectorLabels = z
  .custom<Record<string, string>>(isRecord, 'expected labels: an object')
  .superRefine((labels, context) => {
    for (const [key, value] of Object.entries(labels)) {
      const problem = labelProblem(key, value)
      if (problem !== undefined) context.addIssue({ code: 'custom', path: [key], message: `not a label: ${problem}` })
    }
  })

const required = (what: string) => z.string(`expected ${what}: a string`)
const optional = (what: string) => required(what).nullish()

const Fields = z.object(
  {
    source_namespace: required('a namespace'),
    source_app_name: required('an application'),
    target_namespace: required('a namespace'),
    target_app_name: optional('an application').transform((name) => name || null),
    target_selector_labels: SelectorLabels.nullish().transform((labels) => (isFilled(labels) ? labels : null)),
    target_service: optional('a Service').transform((name) => name || null),
    target_type: z
      .enum(['app', 'unit'], 'expected app or unit')
      .nullish()
      .transform((type) => type ?? 'app'),
    endpoints: z
      .array(MeshEndpoint, 'expected endpoints: a list')
      .nullish()
      .transform((endpoints) => endpoints ?? []),
  },
  'expected a policy: an object',
)

const isFilled = (labels: Record<string, string> | null | undefined): labels is Record<string, string> =>
  labels != null && Object.keys(labels).length > 0

/**
 * A policy in the wire form of the charm library's `service_mesh` interface. Null, an empty name and an empty selector are read as null.
 * Unknown fields are ignored. In addition to the library's checks, it refuses a unit policy that would open its whole namespace, or that
 * has hosts, methods or paths, which nothing enforces at a pod.
 */
export const MeshPolicy = Fields.superRefine((policy, context) => {
  const message = policy.target_type === 'app' ? appTargetProblem(policy) : unitTargetProblem(policy)
  if (message !== undefined) context.addIssue({ code: 'custom', message: `Bad policy configuration. ${message}` })
  if (policy.target_type === 'unit') for (const issue of unseenAtPods(policy)) context.addIssue(issue)
})
export type MeshPolicy = z.infer<typeof MeshPolicy>

/** The fields of a policy, in wire order. */
export const WIRE_FIELDS = Fields.keyof().options

type Target = Pick<MeshPolicy, 'target_app_name' | 'target_selector_labels' | 'target_service'>

const APP = 'MeshPolicy with target_type PolicyTargetType.app'
const UNIT = 'MeshPolicy with target_type PolicyTargetType.unit'

const appTargetProblem = ({ target_app_name, target_selector_labels, target_service }: Target): string | undefined => {
  if (!target_app_name && !target_service) return `Neither target_app_name nor target_service specified for ${APP}`
  if (target_selector_labels) return `${APP} does not support target_selector_labels.`
  return undefined
}

const unitTargetProblem = ({ target_app_name, target_selector_labels, target_service }: Target): string | undefined => {
  if (target_app_name && target_selector_labels)
    return `${UNIT} cannot specify both target_app_name and target_selector_labels.`
  if (target_service) return `${UNIT} does not support target_service.`
  if (!target_app_name && !target_selector_labels)
    return `Neither target_app_name nor target_selector_labels specified for ${UNIT}: it would open the whole namespace.`
  return undefined
}

const unseenAtPods = ({ endpoints }: MeshPolicy) =>
  endpoints.flatMap((endpoint, index) =>
    httpFields(endpoint).map((field) => ({
      code: 'custom' as const,
      path: ['endpoints', index, field],
      message: `expected no ${field} with target_type unit: pods are guarded by port alone`,
    })),
  )
