import { expect, test } from 'vitest'
import { ask, BEACON, configure, createMesh, objectsOf, provides, related, wire } from '../../helpers/beacon-world.ts'
import { validators } from '../../knative/crd-schema.ts'

/** A beacon that makes an object of each kind and sort that there is. */
const createAll = async () => {
  const world = createMesh([], false)
  for (const name of ['bank', 'istio-system'])
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
  await ask(world, [wire(), wire({ target_type: 'unit', endpoints: [{ ports: [80, 443] }] })])
  await ask(
    world,
    [wire({ target_app_name: 'web', endpoints: [{ hosts: ['*.a'], methods: ['GET'], paths: ['/a/{*}'] }] })],
    {
      id: 8,
      application: 'web',
    },
  )
  const many = Array.from({ length: 600 }, (_, index) =>
    wire({
      target_namespace: 'bank',
      target_app_name: 'cart',
      source_app_name: `a${index}`,
      endpoints: [{ ports: [index + 1] }],
    }),
  )
  await world.send('relation-changed', provides(9, { namespace: 'bank', application: 'cart' }, many))
  await world.send('relation-changed', related(10, 'metrics-endpoint', { application: 'prometheus' }, BEACON))
  const spec = {
    selector: { matchLabels: { a: 'b' } },
    action: 'DENY',
    rules: [{ when: [{ key: 'source.ip', values: ['10.0.0.1'] }] }],
  }
  await configure(world, {
    mesh: {
      units: 3,
      hardened: true,
      modelOnMesh: true,
      externalTraffic: ['0.0.0.0/0'],
      externalAuthorizer: 'oauth',
      backends: [{ namespace: 'bank', application: 'web', ports: [80] }],
    },
    meshPolicies: [wire({ target_app_name: 'own' })],
    rawPolicies: [{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'raw' }, spec }],
  })
  return world
}

test('the schemas of the CRDs take every object that a beacon makes', async () => {
  const world = await createAll()
  const objects = [...objectsOf(world, 'AuthorizationPolicy'), ...objectsOf(world, 'Gateway')]
  expect(objects.length).toBeGreaterThan(13)
  for (const { status: _, ...object } of objects) {
    const check = validators.get(`${object.apiVersion} ${object.kind}`)
    expect([object.metadata.name, check?.(object), check?.errors]).toEqual([object.metadata.name, true, null])
  }
})

test('a beacon that makes all of this has nothing to do the second time', async () => {
  const world = await createAll()
  expect(await world.send('resync', BEACON)).toMatchObject({ written: [], conflicts: [] })
})
