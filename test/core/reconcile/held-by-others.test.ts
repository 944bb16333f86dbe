import { describe, expect, test } from 'vitest'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import { configure, createMesh, edit, objectsOf, remove, requires } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'
import { lintOf, viewOf } from '../answers.ts'

const DB = { application: 'db' }
const KEY = 'istio.io/dataplane-mode'
const LABELS = { labels: { [KEY]: 'none' } }

const WAYS: [string, (world: World) => unknown, (world: World) => unknown, string][] = [
  [
    'its own config',
    (world) => configure(world, LABELS, DB),
    (world) => configure(world, {}, DB),
    'the config of shop/db sets istio.io/dataplane-mode=none, and a relation asks for ambient: take the label out of the config, or end the relation',
  ],
  [
    'the template of its pods',
    (world) =>
      edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', { spec: { template: { metadata: LABELS } } }),
    (world) =>
      edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
        spec: { template: { metadata: { labels: { [KEY]: null } } } },
      }),
    'kubectl-edit has set istio.io/dataplane-mode=none on StatefulSet shop/db, and a relation asks for ambient: remove the label, and the next event or resync sets it',
  ],
]

describe('a label that keeps an application off the mesh on which its relations put it', () => {
  test.each(WAYS)(
    'a label that keeps an application off the mesh on which its relations put it is told by every answer until it is gone: of %s',
    async (_, keepOff, letOn, message) => {
      const world = createMesh(['db'])
      await configure(world, { mesh: {} })
      await keepOff(world)
      await world.send('relation-changed', requires(7, DB))
      const outcome = await world.send('resync', DB)
      const { status, conditions } = await viewOf(world)
      expect(outcome.conditions).toMatchObject([{ message }])
      expect(status.status).toBe('waiting')
      expect(conditions).toMatchObject([{ message }])
      expect((await lintOf(world)).map((finding) => finding.message).join('\n')).toContain(message)
      await letOn(world)
      await world.send('resync', DB)
      expect((await viewOf(world)).status.status).toBe('active')
      expect(world.labels('db').template).toMatchObject({ [KEY]: 'ambient' })
    },
  )
})

/** The application that writes each kind of object. */
const WRITERS = [
  ['AuthorizationPolicy', 'db', '/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies'],
  ['Gateway', 'beacon', '/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways'],
] as const

test.each(WRITERS)(
  'an object of somebody else that has the name of our %s is a wait in every answer of %s until it is gone',
  async (kind, writer, collection) => {
    const start = async (world: World) => {
      await configure(world, { policies: [{ type: 'app', relation: 'web', endpoints: [] }] }, DB)
      await world.send('relation-changed', requires(7, DB))
      await configure(world, { mesh: {} })
      return await world.send('resync', { application: writer })
    }
    const other = createMesh(['db'])
    await start(other)
    const [{ apiVersion = '', metadata: { name = '', namespace = '' } = {}, spec = {} } = {}] = objectsOf(other, kind)
    const world = createMesh(['db'])
    world.api.seed([{ apiVersion, kind, metadata: { name, namespace }, spec }], { manager: 'kubectl' })
    const { status, conditions } = await start(world)
    const message = `${kind} ${namespace}/${name} is held by kubectl, and has a name that meshstep needs: delete or rename it, and the next event or resync creates ours`
    expect(status).toBe('conflict')
    expect(conditions).toContainEqual(expect.objectContaining({ for: ['kubectl'], message }))
    const view = (await (await world.app.request(`/applications/shop/${writer}`)).json()) as ApplicationView
    expect(view.status.status).toBe('waiting')
    expect(view.conditions).toContainEqual(expect.objectContaining({ message }))
    expect((await lintOf(world)).map((finding) => finding.message).join('\n')).toContain(message)
    remove(world, `${collection}/${name}`)
    await world.send('resync', { application: writer })
    expect(objectsOf(world, kind).map(({ metadata }) => metadata.name)).toContain(name)
  },
)
