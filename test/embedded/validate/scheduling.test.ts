import { expect, test } from 'vitest'
import { type Cause, causesOf, forbidden, invalid, podSpec, required, template, unsupported } from '../causes.ts'
import { createClient, DEPLOYMENTS, workload } from '../client.ts'

type Body = Record<string, unknown>

const POD = 'spec.template.spec'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'

const NEEDS = 'requiredDuringSchedulingIgnoredDuringExecution'
const WISHES = 'preferredDuringSchedulingIgnoredDuringExecution'

const refused = (spec: Body) => {
  const { status, object } = createClient().post(DEPLOYMENTS, template(podSpec({}, spec)))
  return [status, causesOf(object)]
}

const SOME = "must be specified when `operator` is 'In' or 'NotIn'"
const NONE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
const ONE = "must be specified single value when `operator` is 'Lt' or 'Gt'"
const UNKNOWN = 'not a valid selector operator'
const LABEL =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/** Expressions that no selector may have, and the error below the place of each. */
const EXPRESSIONS: [expression: Body, error: (field: string) => Cause][] = [
  [{ key: 'a', operator: 'Equals', values: ['b'] }, (field) => invalid(`${field}.operator`, 'Equals', UNKNOWN)],
  [{ key: 'a' }, (field) => invalid(`${field}.operator`, '', UNKNOWN)],
  [{ key: 'a', operator: 'constructor' }, (field) => invalid(`${field}.operator`, 'constructor', UNKNOWN)],
  [{ key: 'a', operator: 'In' }, (field) => required(`${field}.values`, SOME)],
  [{ key: 'a', operator: 'NotIn', values: [] }, (field) => required(`${field}.values`, SOME)],
  [{ key: 'a', operator: 'Exists', values: ['b'] }, (field) => forbidden(`${field}.values`, NONE)],
  [{ key: 'a', operator: 'DoesNotExist', values: ['b'] }, (field) => forbidden(`${field}.values`, NONE)],
  [{ key: 'a', operator: 'In', values: ['b', 'c!'] }, (field) => invalid(`${field}.values[1]`, 'c!', LABEL)],
]

test.each(EXPRESSIONS)('the expression %j is refused in every selector', (expression, error) => {
  const selector = { matchLabels: { app: 'web' }, matchExpressions: [expression] }
  const client = createClient()
  const { object } = client.post(DEPLOYMENTS, workload('Deployment', { selector }))
  expect(causesOf(object)[0]).toEqual(error('spec.selector.matchExpressions[0]'))
  const budget = { metadata: { name: 'a' }, spec: { minAvailable: 1, selector } }
  expect(causesOf(client.post(BUDGETS, budget).object)).toEqual([error('spec.selector.matchExpressions[0]')])

  const term = { topologyKey: 'zone', labelSelector: selector, namespaceSelector: selector }
  const place = `${POD}.affinity.podAntiAffinity.${NEEDS}[0]`
  expect(refused({ affinity: { podAntiAffinity: { [NEEDS]: [term] } } })).toEqual([
    422,
    ['labelSelector', 'namespaceSelector'].map((key) => error(`${place}.${key}.matchExpressions[0]`)),
  ])
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector }
  expect(refused({ topologySpreadConstraints: [constraint] })).toEqual([
    422,
    [error(`${POD}.topologySpreadConstraints[0].labelSelector.matchExpressions[0]`)],
  ])
  const nodes = { nodeSelectorTerms: [{ matchExpressions: [expression] }] }
  expect(refused({ affinity: { nodeAffinity: { [NEEDS]: nodes } } })).toEqual([
    422,
    [error(`${POD}.affinity.nodeAffinity.${NEEDS}.nodeSelectorTerms[0].matchExpressions[0]`)],
  ])
})

const NODES = `${POD}.affinity.nodeAffinity`
const PODS_WISHED = `${POD}.affinity.podAffinity.${WISHES}[0]`
const nodeWish = (weight: number, expression: Body) => ({
  affinity: { nodeAffinity: { [WISHES]: [{ weight, preference: { matchExpressions: [expression] } }] } },
})
const toleration = (fields: Body) => ({ tolerations: [fields] })

test.each<[what: string, spec: Body, causes: readonly Cause[]]>([
  [
    'two bounds of a node',
    nodeWish(1, { key: 'a', operator: 'Gt', values: ['1', '2'] }),
    [required(`${NODES}.${WISHES}[0].preference.matchExpressions[0].values`, ONE)],
  ],
  [
    'a wish that is too strong',
    nodeWish(101, { key: 'a', operator: 'Exists' }),
    [invalid(`${NODES}.${WISHES}[0].weight`, 101, 'must be in the range 1-100')],
  ],
  [
    'no term of a node',
    { affinity: { nodeAffinity: { [NEEDS]: { nodeSelectorTerms: [] } } } },
    [required(`${NODES}.${NEEDS}.nodeSelectorTerms`, 'must have at least one node selector term')],
  ],
  [
    'a bound of a pod',
    {
      affinity: {
        podAffinity: {
          [WISHES]: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: 'zone',
                labelSelector: { matchExpressions: [{ key: 'a', operator: 'Lt', values: ['1'] }] },
              },
            },
          ],
        },
      },
    },
    [invalid(`${PODS_WISHED}.podAffinityTerm.labelSelector.matchExpressions[0].operator`, 'Lt', UNKNOWN)],
  ],
  [
    'pods that are spread, whatever if they cannot be',
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone' }] },
    [unsupported(`${POD}.topologySpreadConstraints[0].whenUnsatisfiable`, '', ...['DoNotSchedule', 'ScheduleAnyway'])],
  ],
  [
    'a toleration of another effect',
    toleration({ key: 'a', operator: 'Exists', effect: 'X' }),
    [unsupported(`${POD}.tolerations[0].effect`, 'X', 'NoSchedule', 'PreferNoSchedule', 'NoExecute')],
  ],
  [
    'a toleration of whatever exists, with a value',
    toleration({ operator: 'Exists', value: 'b' }),
    [invalid(`${POD}.tolerations[0].operator`, 'b', "value must be empty when `operator` is 'Exists'")],
  ],
  [
    'a toleration of a value of no key',
    toleration({ value: 'b' }),
    [
      invalid(
        `${POD}.tolerations[0].operator`,
        '',
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    ],
  ],
  [
    'a toleration that ends of what does not evict',
    toleration({ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 1 }),
    [
      invalid(
        `${POD}.tolerations[0].effect`,
        'NoSchedule',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      ),
    ],
  ],
])('%s: is refused', (_, spec, causes) => {
  expect(refused(spec)).toEqual([422, causes])
})

test.each<[what: string, spec: Body]>([
  ['a bound of a node', nodeWish(1, { key: 'a', operator: 'Lt', values: ['1'] })],
  ['a wish for a label that no node can have', nodeWish(100, { key: 'a', operator: 'In', values: ['b!'] })],
  ['a toleration of all', toleration({ operator: 'Exists' })],
  ['a toleration that ends', toleration({ key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 1 })],
])('%s: is taken', (_, spec) => {
  expect(refused(spec)).toEqual([201, []])
})
