import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createWorld, event, NAMESPACE, SUBJECT, service, type World, workload } from '../../helpers/world.ts'

const NAME = `meshstep-documents-${NAMESPACE}`
const API = 'admissionregistration.k8s.io/v1'

const document: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    ...{ name: 'web-config', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'config' } },
    annotations: { 'meshstep.dev/author': 'somebody' },
  },
  data: { application: 'web', config: 'labels: { tier: red }' },
}
const policy: KubernetesObject = {
  apiVersion: API,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: NAME },
  spec: { validations: [{ expression: 'true' }] },
}
const binding = (policyName = NAME, ...validationActions: string[]): KubernetesObject => ({
  ...{ apiVersion: API, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: NAME } },
  spec: { policyName, validationActions },
})

const authenticated = (...objects: KubernetesObject[]): World =>
  createWorld([workload(), service(), ...objects], { allows: () => true })

const take = async (world: World) =>
  (await world.send('config-changed', { config: { labels: { tier: 'red' } }, document: 'web-config' })).messages

const viewed = async (world: World) => {
  const path = `/applications/${SUBJECT.namespace}/${SUBJECT.application}`
  const response = await world.app.request(path, { headers: { authorization: 'Bearer good' } })
  return ((await response.json()) as { messages?: string[] }).messages
}

describe('where senders are authenticated, a document that is read', () => {
  test.each<[string, KubernetesObject[], RegExp]>([
    ['no admission policy is there', [], /ValidatingAdmissionPolicy meshstep-documents-shop does not exist/],
    ['nothing binds the policy', [policy], /ValidatingAdmissionPolicyBinding meshstep-documents-shop does not exist/],
    ['the policy only warns', [policy, binding(NAME, 'Warn')], /does not deny by the policy of its name/],
    ['another policy is bound', [policy, binding('other', 'Deny')], /does not deny by the policy of its name/],
  ])(
    'where senders are authenticated, a document that is read is told of as open to everybody when %s, in the outcome and when asked',
    async (_, objects, message) => {
      const world = authenticated(document, ...objects)
      const told = expect.arrayContaining([expect.stringMatching(message)])
      expect(await take(world)).toEqual(told)
      expect(await viewed(world)).toEqual(told)
      expect(world.labels().template).toMatchObject({ tier: 'red' })
    },
  )

  test('where senders are authenticated, a document that is read is as good as its writer when the policy is in place', async () => {
    const world = authenticated(document, policy, binding(NAME, 'Deny'))
    expect(await take(world)).toEqual([])
    expect(await viewed(world)).toEqual([])
  })

  test.each([
    [403, JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'no' }), 'may not be looked at'],
    [503, 'upstream connect error', 'cannot be looked at'],
    [404, '404 page not found', 'cannot be looked at'],
  ])(
    'where senders are authenticated, a document that is read is taken when an answer of %i does not say what is there, and told is that nobody knows',
    async (status, body, why) => {
      const world = authenticated(document)
      world.intercept = ({ path }) => (path.includes(API) ? { status, headers: {}, body } : undefined)
      const told = `it is not known whether whoever may write ConfigMaps in shop may write documents: ValidatingAdmissionPolicy ${NAME} or its binding ${why}`
      expect(await take(world)).toEqual([expect.stringContaining(told)])
      expect(world.labels().template).toMatchObject({ tier: 'red' })
    },
  )

  test('where senders are authenticated, a document that is read costs a look at the policy once in ten seconds', async () => {
    const world = authenticated(document, policy, binding(NAME, 'Deny'))
    await take(world)
    await take(world)
    const looks = () => world.calls.filter((call) => call.includes(API))
    expect(looks()).toHaveLength(2)
    world.clock.advance(10_001)
    await take(world)
    expect(looks()).toHaveLength(4)
  })
})

test('nobody looks for the policy where there is no document, or anybody may send events', async () => {
  for (const world of [authenticated(), createWorld([workload(), service(), document])]) {
    await world.post(event('config-changed', { config: { labels: { tier: 'red' } } }))
    expect(world.calls.filter((call) => call.includes(API))).toEqual([])
  }
})
