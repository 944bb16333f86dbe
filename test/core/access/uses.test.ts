import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { TENANT } from '../../helpers/tenant-documents.ts'
import { config, createTenants, outside, resync, send, tell, write } from '../../helpers/tenants.ts'
import { event, NAMESPACE, type World } from '../../helpers/world.ts'

const containers = [{ name: 'c', image: 'x:1' }]
const runningAs = (serviceAccountName: string) => ({ workload: { podSpec: { containers, serviceAccountName } } })
const pulling = { workload: { podSpec: { containers, imagePullSecrets: [{ name: 'registry' }] } } }

const account = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: NAMESPACE },
})

const createRobots = (rights: string[] = [], senders: string[] = []): { world: World; granted: Set<string> } => {
  const granted = new Set(['a', 'workload a', ...rights].map((right) => `${TENANT}: ${right}`))
  const world = createTenants(granted, { senders })
  world.api.seed([account('robot'), account('a')], { manager: 'kubectl' })
  return { world, granted }
}

const USES: [string, Record<string, unknown>, string, string][] = [
  [
    'another account',
    runningAs('robot'),
    'impersonate serviceaccounts robot',
    'impersonate serviceaccounts shop/robot',
  ],
  ['a Secret of others', pulling, 'get secrets registry', 'get secrets shop/registry'],
  [
    'the workload of others',
    { workload: { kind: 'StatefulSet', name: 'b' } },
    'patch statefulsets b',
    'patch statefulsets.apps shop/b',
  ],
  ['the Service of others', { service: 'b' }, 'patch services b', 'patch services shop/b'],
]

describe('whoever speaks is asked for what a config uses of others, and nobody in their place', () => {
  test.each(USES)('the author of a document, for %s', async (_, given, right, named) => {
    const { world, granted } = createRobots()
    const before = outside(world)
    const document = config(JSON.stringify(given))
    const { status, text } = await write(world, document)
    expect({ status, text }).toEqual({
      status: 403,
      text: expect.stringContaining(`author ${TENANT} may not ${named}`),
    })
    expect([world.memory('a'), outside(world)]).toEqual([undefined, before])
    granted.add(`${TENANT}: ${right}`)
    expect((await write(world, document)).status).toBe(200)
    expect(world.memory('a')?.state.config).toMatchObject(given)
  })

  test.each(USES)(
    'the author, when a resync reads of %s in a document that no event told of',
    async (_, given, right, named) => {
      const { world, granted } = createRobots()
      world.api.seed([config(JSON.stringify(given))], { manager: 'kubectl' })
      const before = outside(world)
      const ofApplication = () => tell(world, { ...event('resync', { application: 'a' }) })
      for (const look of [() => resync(world), ofApplication]) expect((await look()).status).toBe(200)
      expect((await ofApplication()).text).toContain(`may not ${named}`)
      expect([world.memory('a'), outside(world)]).toEqual([undefined, before])
      granted.add(`${TENANT}: ${right}`)
      await ofApplication()
      expect(world.memory('a')?.state.config).toMatchObject(given)
    },
  )

  test.each(USES)('the sender of an event, for %s', async (_, given, right, named) => {
    const { world, granted } = createRobots()
    const told = () => send(world, event('config-changed', { application: 'a', config: given }))
    expect(await told()).toEqual({ status: 403, text: expect.stringContaining(`${TENANT} may not ${named}`) })
    expect(world.memory('a')).toBeUndefined()
    granted.add(`${TENANT}: ${right}`)
    expect((await told()).status).toBe(200)
  })

  test('an account that may update applications is nobody’s to run as, also by a document', async () => {
    const robot = `system:serviceaccount:${NAMESPACE}:robot`
    const { world } = createRobots(['impersonate serviceaccounts robot'], [robot])
    const { status, text } = await write(world, config(JSON.stringify(runningAs('robot'))))
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining('no workload may run as it') })
    expect(world.memory('a')).toBeUndefined()
  })
})
