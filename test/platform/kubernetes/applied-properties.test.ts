import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { isApplied } from '../../../src/platform/kubernetes/applied.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { runs } from '../../helpers/runs.ts'

const MANAGER = 'meshstep/web'

const text = fc.constantFrom('1', '2')
const texts = fc.dictionary(fc.constantFrom('a', 'b'), text)

const policy = fc
  .record(
    {
      selector: fc.record({ matchLabels: texts }),
      action: fc.constantFrom('ALLOW', 'DENY'),
      rules: fc.array(fc.record({ from: fc.array(fc.record({ source: fc.record({ principals: fc.array(text) }) })) })),
    },
    { requiredKeys: [] },
  )
  .map((spec) => ({ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', spec }))

const listener = fc.record({
  hostname: fc.constantFrom('one.example', 'two.example'),
  protocol: fc.constantFrom('TLS', 'HBONE'),
})

/** No two listeners of a Gateway may have the same port. */
const PORTS: Readonly<Record<string, number>> = { x: 1, y: 2, z: 3 }

const gateway = fc
  .dictionary(fc.constantFrom(...Object.keys(PORTS)), listener, { minKeys: 1 })
  .map((listeners) => Object.entries(listeners).map(([name, one]) => ({ name, port: PORTS[name], ...one })))
  .map((listeners) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    spec: { gatewayClassName: 'c', listeners },
  }))

const metadata = fc.record({ labels: texts, annotations: texts }, { requiredKeys: [] })

const PATHS: Readonly<Record<string, string>> = {
  AuthorizationPolicy: '/apis/security.istio.io/v1/namespaces/default/authorizationpolicies/web',
  Gateway: '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/web',
}

type Content = { apiVersion: string; kind: string; spec: object }

const objectOf = ({ apiVersion, kind, spec }: Content, own: object): KubernetesObject => ({
  apiVersion,
  kind,
  metadata: { ...own, name: 'web', namespace: 'default' },
  spec: { ...spec },
})

const patch = (
  api: EmbeddedApi,
  object: KubernetesObject,
  manager: string,
  type: 'apply' | 'merge',
): KubernetesObject => {
  const {
    apiVersion,
    kind,
    metadata: { name: _, ...own },
    ...content
  } = object
  const isApply = type === 'apply'
  const answer = api.handle({
    method: 'PATCH',
    path: `${PATHS[kind]}?fieldManager=${encodeURIComponent(manager)}${isApply ? '&force=true' : ''}`,
    headers: { 'content-type': isApply ? 'application/apply-patch+yaml' : 'application/merge-patch+json' },
    body: JSON.stringify(isApply ? object : { apiVersion, kind, metadata: own, ...content }),
  })
  if (answer.status >= 300) throw new Error(answer.body)
  return JSON.parse(answer.body)
}

const history = (content: fc.Arbitrary<Content>) => {
  const object = fc.tuple(content, metadata).map(([one, own]) => objectOf(one, own))
  return fc.record({ first: object, edits: fc.array(object, { maxLength: 2 }), next: object, isSame: fc.boolean() })
}

test.each<[string, fc.Arbitrary<Content>]>([
  ['maps and atomic lists', policy],
  ['lists with keys', gateway],
])('whatever is seen as applied, an apply does not change: %s', (_, content) => {
  fc.assert(
    fc.property(history(content), ({ first, edits, next, isSame }) => {
      const api = createEmbeddedApi()
      const applied = patch(api, first, MANAGER, 'apply')
      const live = edits.reduce((_before, edit) => patch(api, edit, 'kubectl', 'merge'), applied)
      const desired = isSame ? first : next
      const seen = isApplied(live, desired, MANAGER)
      const after = patch(api, desired, MANAGER, 'apply')
      if (seen) expect(after.metadata.resourceVersion).toBe(live.metadata.resourceVersion)
      // an empty map or list in which somebody else holds something is looked at again: no apply can empty it
      else if (after.metadata.resourceVersion === live.metadata.resourceVersion)
        expect(JSON.stringify(desired)).toMatch(/\{\}|\[\]/)
    }),
    { numRuns: runs(500) },
  )
})
