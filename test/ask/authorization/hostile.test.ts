import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evaluate } from '../../../src/ask/authorization/evaluate.ts'
import { buildInput } from '../../../src/ask/authorization/evaluation-input.ts'
import { readAuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application, bookinfo, createMesh, waypoint } from '../../helpers/mesh.ts'
import { runs } from '../../helpers/runs.ts'
import { managed } from '../../mesh/istio/bookinfo.ts'

const NAMES = ['from', 'to', 'port', 'method', 'path', 'host', 'via', 'trustDomain', 'rootNamespace', '__proto__']
const VALUES = ['shop/productpage', 'shop/details', 'shop/nothing', '9080', 'GET', '/details/0', 'pod', 'toString', '']

const text = fc.oneof(fc.constantFrom(...VALUES), fc.string({ unit: 'binary' }))
const parameters = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), text), text), { maxLength: 6 })

test('whatever is asked is answered or refused, and never breaks anything', async () => {
  const mesh = createMesh([...bookinfo, ...managed])
  const before = mesh.api.objects()
  const whole = parameters.map((some) => [
    ...new Map([['from', 'shop/productpage'], ['to', 'shop/details'], ['port', '9080'], ...some]),
  ])
  await fc.assert(
    fc.asyncProperty(fc.oneof(parameters, whole), async (pairs) => {
      const query = new URLSearchParams()
      for (const [name = '', value = ''] of pairs) query.append(name, value)
      const response = await mesh.app.request(`/explain?${query}`)
      expect([200, 400, 404]).toContain(response.status)
      const body = await response.json()
      if (response.status !== 200) expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(768)
    }),
    { numRuns: runs(300) },
  )
  expect(mesh.api.objects()).toEqual(before)
})

const question = {
  from: { namespace: 'shop', application: 'productpage' },
  to: { namespace: 'shop', application: 'details' },
  port: 9080,
  method: 'GET' as const,
  path: '/details/0',
  via: 'service' as const,
  trustDomain: 'cluster.local',
  rootNamespace: 'istio-system',
  autoAllowWaypoint: true,
}

const podsOf = ({ spec }: KubernetesObject) => ({ template: spec?.template ?? {}, running: [] })

const observed = (policies: readonly KubernetesObject[], gateways: readonly KubernetesObject[]) => {
  const [details, service] = application('details')
  const [productpage] = application('productpage')
  if (!details || !service || !productpage) throw new Error('expected applications')
  return {
    policies,
    gateways,
    services: [service],
    fromNamespace: undefined,
    toNamespace: undefined,
    from: podsOf(productpage),
    to: podsOf(details),
  }
}

const answer = (policies: readonly KubernetesObject[], gateways: readonly KubernetesObject[] = [waypoint()]) => {
  const { request, snapshot } = buildInput(question, observed(policies, gateways))
  return evaluate(request, snapshot)
}

const KEYS = ['selector', 'targetRefs', 'rules', 'action', 'matchLabels', 'from', 'source', 'planets', '__proto__']
const { anything } = fc.letrec((tie) => ({
  anything: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>('ALLOW', 'DENY', 'details', 1, null, true, [], {}),
    fc.array(tie('anything'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('anything'), { maxKeys: 4 }),
  ),
}))
const spec = fc.dictionary(fc.constantFrom(...KEYS), anything) as fc.Arbitrary<Record<string, unknown>>

test('whatever the object of a policy holds, it makes no yes out of a no, and where nobody knows where it holds, a yes no more', () => {
  const allowedWith = (odd: KubernetesObject, method: 'GET' | 'POST') => {
    const { request, snapshot } = buildInput({ ...question, method }, observed([...managed, odd], [waypoint()]))
    const { allowed, policy } = evaluate(request, snapshot)
    return { allowed, isByIt: policy === `${odd.metadata.namespace}/odd` }
  }
  fc.assert(
    fc.property(spec, fc.constantFrom('shop', 'istio-system', 'bank'), (content, namespace) => {
      const odd = { apiVersion: '', kind: '', metadata: { name: 'odd', namespace }, spec: content }
      const post = allowedWith(odd, 'POST')
      expect(post.allowed && !post.isByIt).toBe(false)
      const read = readAuthorizationPolicy(odd)
      const isAnywhere = 'unreadable' in read && read.attachment === undefined && namespace !== 'bank'
      expect(allowedWith(odd, 'GET').allowed && isAnywhere).toBe(false)
    }),
    { numRuns: runs(500) },
  )
})

test('whatever the object of a Gateway holds, there is an answer', () => {
  fc.assert(
    fc.property(anything, anything, (content, status) => {
      const odd = { ...waypoint(), ...({ spec: content, status } as Partial<KubernetesObject>) }
      expect(answer(managed, [odd]).sentence).toMatch(/\.$/)
    }),
    { numRuns: runs(300) },
  )
})
