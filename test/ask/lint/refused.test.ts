import { describe, expect, test } from 'vitest'
import { granted, lintOf, policy } from './place.ts'

const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway' }

/** What lint finds of a policy of a person, of which Istio says in its status that it does not take it. */
const lintOfRefused = async (annotations: Record<string, string> = {}) => {
  const place = await granted()
  const object = policy('one', { targetRefs: [{ ...GATEWAY, name: 'idle' }], rules: [{}] })
  place.api.seed([
    {
      ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'idle', namespace: 'shop' } },
      spec: { gatewayClassName: 'istio', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
    },
    { ...object, metadata: { ...object.metadata, annotations } },
  ])
  return (await lintOf(place)).filter(({ about }) => about === 'AuthorizationPolicy shop/one')
}

describe('a policy of a person that Istio refuses', () => {
  test('a policy of a person that Istio refuses is told with what Istio says', async () => {
    expect(await lintOfRefused()).toEqual([
      {
        ...{ rule: 'policy-unenforced', about: 'AuthorizationPolicy shop/one' },
        message: expect.stringContaining('is not enforced: not bound (TargetNotFound)'),
      },
    ])
  })

  test('a policy of a person that Istio refuses is not told where the policy allows it', async () => {
    expect(await lintOfRefused({ 'meshstep.dev/allow': 'policy-unenforced' })).toEqual([])
  })
})
