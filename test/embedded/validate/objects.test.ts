import { expect, test } from 'vitest'
import { createClient, DEPLOYMENTS, STATEFUL_SETS, workload } from '../client.ts'

const causesOf = (object: { details?: { causes?: { field: string; message: string }[] } }): string[] =>
  (object.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)

const mismatch = /^spec.template.metadata.labels: .*`selector` does not match template `labels`$/

test('a workload selects its own pods, whose labels are valid', () => {
  const client = createClient()
  const post = (spec: Record<string, unknown>, labels?: Record<string, string>) =>
    causesOf(client.post(DEPLOYMENTS, workload('Deployment', spec, labels)).object)
  expect(post({ selector: undefined })).toEqual([expect.stringMatching(/^spec.selector: Required value/)])
  expect(post({ selector: { matchLabels: { app: 'api' } } })).toEqual([expect.stringMatching(mismatch)])
  expect(post({}, { 'a b': 'c', team: 'not valid' })).toEqual([
    expect.stringMatching(/^spec.template.labels: Invalid value: {"a b":"c"}/),
    expect.stringMatching(/^spec.template.labels: Invalid value: {"team":"not valid"}/),
  ])
})

test('a workload keeps its selector, and a StatefulSet all but a few fields', () => {
  const client = createClient()
  const matchLabels = { app: 'web', tier: 'a' }
  const change = { spec: { selector: { matchLabels }, template: { metadata: { labels: matchLabels } } } }
  client.post(DEPLOYMENTS, workload('Deployment'))
  client.post(STATEFUL_SETS, workload('StatefulSet'))
  const patch = (path: string, spec: unknown) => causesOf(client.patch(`${path}/web`, 'merge', spec).object)
  expect(patch(DEPLOYMENTS, change)).toEqual([expect.stringMatching(/^spec.selector: .*field is immutable$/)])
  const fixed = expect.stringMatching(/^spec: Forbidden: updates to statefulset spec for fields other than 'replicas'/)
  expect(patch(STATEFUL_SETS, change)).toEqual([fixed])
  expect(patch(STATEFUL_SETS, { spec: { serviceName: 'other' } })).toEqual([fixed])
  expect(patch(STATEFUL_SETS, { spec: { replicas: 3, updateStrategy: { type: 'OnDelete' } } })).toEqual([])
})
