import { expect, test } from 'vitest'
import { type Cause, causesOf, forbidden, invalid } from '../causes.ts'
import { createClient, PODS } from '../client.ts'

type Body = Record<string, unknown>

const OTHERWISE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

const container = { name: 'c', image: 'x:1' }
const NEEDS = 'requiredDuringSchedulingIgnoredDuringExecution'
const TERMS = `spec.affinity.nodeAffinity.${NEEDS}.nodeSelectorTerms`

const expression = (key: string) => ({ key, operator: 'Exists' })
const nodes = (...terms: string[][]) => ({
  nodeAffinity: { [NEEDS]: { nodeSelectorTerms: terms.map((keys) => ({ matchExpressions: keys.map(expression) })) } },
})
const printed = (...keys: string[]) => ({
  MatchExpressions: keys.map((Key) => ({ Key, Operator: 'Exists', Values: null })),
  MatchFields: null,
})

const gates = (...names: string[]) => ({ schedulingGates: names.map((name) => ({ name })) })
const gated = gates('example.com/a')

/** What a pod with this spec is answered when a patch changes it. */
const changed = (before: Body, change: Body) => {
  const client = createClient()
  client.post(PODS, { metadata: { name: 'a' }, spec: { containers: [container], ...before } })
  return client.patch(`${PODS}/a`, 'merge', { spec: change })
}

test.each<[what: string, before: Body, change: Body]>([
  ['another image', {}, { containers: [{ ...container, image: 'x:2' }] }],
  [
    'another image of an init container',
    { initContainers: [{ ...container, name: 'i' }] },
    { initContainers: [{ ...container, name: 'i', image: 'x:2' }] },
  ],
  ['a deadline', {}, { activeDeadlineSeconds: 60 }],
  ['an earlier deadline', { activeDeadlineSeconds: 60 }, { activeDeadlineSeconds: 30 }],
  ['a toleration', {}, { tolerations: [{ operator: 'Exists' }] }],
  [
    'another end of a toleration',
    { tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }] },
    { tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 2 }] },
  ],
  ['one gate fewer', gates('example.com/a', 'example.com/b'), gates('example.com/b')],
  ['no gate', gated, { schedulingGates: null }],
  ['a label of its node, while it is gated', gated, { nodeSelector: { disk: 'fast' } }],
  [
    'one more label of its node, while it is gated',
    { ...gated, nodeSelector: { a: 'b' } },
    { nodeSelector: { c: 'd' } },
  ],
  ['an affinity to nodes, while it is gated', gated, { affinity: nodes(['a']) }],
  ['a closer affinity, while it is gated', { ...gated, affinity: nodes(['a']) }, { affinity: nodes(['a', 'b']) }],
])('a pod takes %s', (_, before, change) => {
  const { status, object } = changed(before, change)
  expect([status, object.message]).toEqual([200, undefined])
})

test.each<[what: string, before: Body, change: Body, causes: readonly Cause[]]>([
  ['another command', {}, { containers: [{ ...container, command: ['b'] }] }, [forbidden('spec', OTHERWISE)]],
  [
    'another command of an init container',
    { initContainers: [{ ...container, name: 'i' }] },
    { initContainers: [{ ...container, name: 'i', command: ['b'] }] },
    [forbidden('spec', OTHERWISE)],
  ],
  ['another time to end', {}, { terminationGracePeriodSeconds: 1 }, [forbidden('spec', OTHERWISE)]],
  [
    'one more container',
    {},
    { containers: [container, { ...container, name: 'd' }] },
    [forbidden('spec.containers', 'pod updates may not add or remove containers')],
  ],
  [
    'an image with a space before it',
    {},
    { containers: [{ ...container, image: ' x:1' }] },
    [invalid('spec.containers[0].image', ' x:1', 'must not have leading or trailing whitespace')],
  ],
  [
    'a later deadline',
    { activeDeadlineSeconds: 30 },
    { activeDeadlineSeconds: 60 },
    [invalid('spec.activeDeadlineSeconds', 60, 'must be less than or equal to previous value')],
  ],
  [
    'no deadline any more',
    { activeDeadlineSeconds: 30 },
    { activeDeadlineSeconds: null },
    [invalid('spec.activeDeadlineSeconds', null, 'must not update from a positive integer to nil value')],
  ],
  [
    'a toleration fewer',
    { tolerations: [{ operator: 'Exists' }] },
    { tolerations: null },
    [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')],
  ],
  [
    'a gate',
    {},
    gated,
    [
      forbidden(
        'spec.schedulingGates[0].name',
        "only deletion is allowed, but found new scheduling gate 'example.com/a'",
      ),
    ],
  ],
  ['a label of its node', {}, { nodeSelector: { disk: 'fast' } }, [forbidden('spec', OTHERWISE)]],
  ['an affinity to nodes', {}, { affinity: nodes(['a']) }, [forbidden('spec', OTHERWISE)]],
  [
    'another label of its node, though it is gated',
    { ...gated, nodeSelector: { a: 'b' } },
    { nodeSelector: { a: 'c' } },
    [
      invalid(
        'spec.nodeSelector',
        { a: 'c' },
        'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ),
    ],
  ],
  [
    'another affinity, though it is gated',
    { ...gated, affinity: nodes(['a']) },
    { affinity: nodes(['b']) },
    [invalid(`${TERMS}[0]`, printed('b'), 'only additions are allowed (no mutations or deletions)')],
  ],
  [
    'one more choice of nodes, though it is gated',
    { ...gated, affinity: nodes(['a']) },
    { affinity: nodes(['a'], ['b']) },
    [
      invalid(
        TERMS,
        [printed('a'), printed('b')],
        'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
      ),
    ],
  ],
])('a pod does not take %s', (_, before, change, causes) => {
  const { status, object } = changed(before, change)
  expect([status, causesOf(object)]).toEqual([422, causes])
})

test('a pod is refused whose image ends with a space', () => {
  const spec = { containers: [{ ...container, image: 'x:1 ' }] }
  const { status, object } = createClient().post(PODS, { metadata: { name: 'a' }, spec })
  const why = 'must not have leading or trailing whitespace'
  expect([status, causesOf(object)]).toEqual([422, [invalid('spec.containers[0].image', 'x:1 ', why)]])
})

test('a pod that is to end before now has one second', () => {
  const spec = { containers: [container], terminationGracePeriodSeconds: -1 }
  const { object } = createClient().post(PODS, { metadata: { name: 'a' }, spec })
  expect(object.spec.terminationGracePeriodSeconds).toBe(1)
})
