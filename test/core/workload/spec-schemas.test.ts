import { describe, expect, test } from 'vitest'
import { PodWorkload } from '../../../src/core/workload/config.ts'
import { workloadObjects } from '../../../src/core/workload/objects.ts'
import { podSpec, SUBJECT } from './samples.ts'

const STATEFUL = { deployment: { type: 'stateful' } }

const problemsOf = (changes: object): string[] => {
  const result = PodWorkload.safeParse({ podSpec: podSpec(), ...changes })
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

/** The objects of a workload, by kind and name. */
const objectsOf = (changes: object) =>
  Object.fromEntries(
    workloadObjects(SUBJECT, PodWorkload.parse({ podSpec: podSpec(), ...changes })).map((object) => [
      `${object.kind} ${object.metadata.name}`,
      object,
    ]),
  )

describe('what a workload cannot have', () => {
  test.each<[string, object, RegExp]>([
    ['a strategy where it is stateful', { ...STATEFUL, strategy: {} }, /^strategy: is for a stateless application/],
    ['an updateStrategy where it is not', { updateStrategy: {} }, /^updateStrategy: is for a stateful application/],
    ['a serviceName where it is not', { serviceName: 'a' }, /^serviceName: is for a stateful application/],
    ['another policy', { ...STATEFUL, podManagementPolicy: 'Some' }, /one of OrderedReady Parallel/],
    [
      'another label to select by',
      { podMetadata: { labels: { 'app.kubernetes.io/name': 'x' } } },
      /^podMetadata\.labels: .* selects the pods/,
    ],
    [
      'a number for an annotation',
      { podMetadata: { annotations: { a: 1 } } },
      /^podMetadata\.annotations\.a: expected/,
    ],
    ['no ports at all', { service: { ports: [] } }, /^service\.ports: expected at least one port/],
    ['two budgets', { podDisruptionBudget: { minAvailable: 1, maxUnavailable: 1 } }, /expected either/],
    ['a budget of nothing', { podDisruptionBudget: {} }, /expected either/],
    ['a file that is in a directory', { configMaps: { a: { 'b/c': '' } } }, /^configMaps\.a\.b\/c: /],
    [
      'two accounts',
      { podSpec: { ...podSpec(), serviceAccountName: 'one' }, serviceAccount: { name: 'other' } },
      /^serviceAccount\.name: expected one/,
    ],
    ['a misspelt key', { podMetadata: { lables: {} } }, /lables/],
  ])('%s', (_, changes, message) => {
    expect(problemsOf(changes)).toEqual([expect.stringMatching(message)])
  })
})

test('a stateless one is replaced by its strategy, and has the metadata that is asked for', () => {
  const strategy = { type: 'Recreate' }
  const podMetadata = { labels: { team: 'blue' }, annotations: { a: 'b' } }
  expect(objectsOf({ strategy, podMetadata })['Deployment web']).toMatchObject({
    spec: {
      strategy,
      template: { metadata: { labels: { team: 'blue', 'app.kubernetes.io/name': 'web' }, annotations: { a: 'b' } } },
    },
  })
})

test('a stateful one has its own policies, and the Service that it names is somebody else’s', () => {
  const given = { podManagementPolicy: 'OrderedReady', updateStrategy: { type: 'OnDelete' }, serviceName: 'peers' }
  const objects = objectsOf({ ...STATEFUL, ...given })
  expect(objects['StatefulSet web']).toMatchObject({ spec: given })
  expect(Object.keys(objects)).toEqual(['ServiceAccount web', 'StatefulSet web', 'Service web'])
})

test('a Service has the ports that are chosen, and annotations', () => {
  const ports = [{ port: 443, targetPort: 'http', appProtocol: 'https' }]
  expect(objectsOf({ service: { ports, annotations: { a: 'b' } } })['Service web']).toMatchObject({
    metadata: { annotations: { a: 'b' } },
    spec: { ports: [{ name: 'port-443', port: 443, protocol: 'TCP', targetPort: 'http', appProtocol: 'https' }] },
  })
})

test('an account is made as it is called, and its pods run as it', () => {
  const annotations = { role: 'a' }
  const objects = objectsOf({ serviceAccount: { name: 'runner', annotations } })
  expect(objects['ServiceAccount runner']).toMatchObject({ metadata: { annotations } })
  expect(objects['Deployment web']).toMatchObject({
    spec: { template: { spec: { serviceAccountName: 'runner' } } },
  })
})

test('ConfigMaps stand beside the workload, whose pods are replaced when they change', () => {
  const annotationOf = (text: string) => {
    const objects = objectsOf({ configMaps: { settings: { 'a.conf': text } } })
    expect(objects['ConfigMap settings']).toMatchObject({ data: { 'a.conf': text } })
    const template = objects['Deployment web']?.spec?.template as { metadata: { annotations: Record<string, string> } }
    return template.metadata.annotations['meshstep.dev/config-maps']
  }
  expect(annotationOf('one')).toBe(annotationOf('one'))
  expect(annotationOf('one')).not.toBe(annotationOf('two'))
})

test('a budget is of the application’s pods', () => {
  expect(objectsOf({ podDisruptionBudget: { minAvailable: '50%' } })['PodDisruptionBudget web']).toMatchObject({
    spec: { minAvailable: '50%', selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } } },
  })
})
