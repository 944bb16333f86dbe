import { describe, expect, test } from 'vitest'
import { Failure } from '../../../src/cli/failure.ts'
import { askJuju } from '../../../src/cli/juju/ask.ts'
import type { Remotes } from '../../../src/cli/juju/cross-model.ts'
import { deriveDocuments } from '../../../src/cli/juju/documents.ts'
import { runStandIn } from './followed.ts'
import { app, createStandIn, emptyModel, type StandInModel, type World } from './stand-in.ts'

const ALIAS = 'remote-38811d7f76ad47ac84be46b165e53828'
const SECOND = 'remote-0123456789abcdef0123456789abcdef'

const hub = { application: 'gateway', endpoint: 'mesh', interface: 'service_mesh', role: 'provider' } as const

/** A model with an offer. */
const offering = (): StandInModel => ({
  ...emptyModel('01'),
  applications: { gateway: app('istio-beacon-k8s') },
  offers: { hub },
})

/** A model whose applications consume the offer of `istio`. */
const consuming = (uuid: string, ...applications: string[]): StandInModel => ({
  ...emptyModel(uuid),
  applications: Object.fromEntries(applications.map((name) => [name, app(name)])),
  saas: { far: { ...hub, application: '', url: 'admin/istio.hub' } },
  crossRelations: applications.map((application, id) => ({
    ...{ id, application, endpoint: 'service-mesh', alias: 'far', other: 'mesh' },
  })),
})

const connected = (id: number, alias: string, from: string) => ({
  ...{ id, application: 'gateway', endpoint: 'mesh', alias, other: 'service-mesh', from },
})

const peersOf = async (world: World, name: string, remotes: Remotes = new Map()) => {
  const { models, notes: reasons } = await askJuju(runStandIn(world), name)
  const derived = deriveDocuments(models[0], models, { withPeers: false, isAll: true, remotes })
  const peers = derived.documents.map(({ data }) => {
    const [relation, remote] = [JSON.parse(String(data.relation)), JSON.parse(String(data.remote))]
    return `${relation.id} ${data.application} ${relation.role} ${remote.namespace}/${remote.application}`
  })
  return { peers, unknown: derived.unknown, notes: derived.notes, reasons }
}

describe.each(['3.6.4', '4.0.8'])('the peer of another model, with Juju %s', (version) => {
  test('the consumer of an offer is not known while its model cannot be read', async () => {
    const istio = { ...offering(), crossRelations: [connected(8, ALIAS, 'ffff')] }
    const { peers, unknown } = await peersOf(createStandIn({ istio }, { version }), 'istio')
    expect(peers).toEqual([])
    expect(unknown).toEqual([expect.stringContaining(`say --remote ${ALIAS}=NAMESPACE/APPLICATION`)])
  })

  test('the offer is not known while its model cannot be read, and it is said why', async () => {
    const world = createStandIn({ bookinfo: consuming('b0', 'details') }, { version })
    const { peers, unknown, reasons } = await peersOf(world, 'bookinfo')
    expect(peers).toEqual([])
    expect(unknown).toEqual([expect.stringContaining('the application behind admin/istio.hub is missing')])
    expect(reasons.join()).toContain('model mk8scloud:admin/istio not found')
  })

  test('two consumers of one model are not told apart', async () => {
    const istio = { ...offering(), crossRelations: [connected(8, ALIAS, 'b0'), connected(9, SECOND, 'b0')] }
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details', 'reviews') }, { version })
    const { peers, unknown } = await peersOf(world, 'istio')
    expect([peers, unknown.length]).toEqual([[], 2])
    const remotes = new Map([
      [ALIAS, { namespace: 'bookinfo', application: 'details' }],
      [SECOND, { namespace: 'bookinfo', application: 'reviews' }],
    ])
    expect((await peersOf(world, 'istio', remotes)).peers).toEqual([
      '8 gateway provides bookinfo/details',
      '9 gateway provides bookinfo/reviews',
    ])
  })

  test('consumers of several models are told apart by what Juju says of the offer, and not without it', async () => {
    const istio = { ...offering(), crossRelations: [connected(8, ALIAS, 'b0'), connected(9, SECOND, 'ba')] }
    const models = { istio, bookinfo: consuming('b0', 'details'), bank: consuming('ba', 'pay') }
    const world = createStandIn(models, { version })
    expect((await peersOf(world, 'istio')).peers).toEqual([
      '8 gateway provides bookinfo/details',
      '9 gateway provides bank/pay',
    ])
    world.instead.offers = { code: 1, stdout: '', stderr: 'ERROR permission denied\n' }
    const { peers, reasons } = await peersOf(world, 'istio')
    expect(peers).toEqual([])
    expect(reasons.join()).toContain('permission denied')
  })

  test('a peer on machines is left out', async () => {
    const istio = { ...offering(), type: 'iaas' as const }
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details') }, { version })
    const { peers, unknown, notes } = await peersOf(world, 'bookinfo')
    expect([peers, unknown]).toEqual([[], []])
    expect(notes).toEqual([expect.stringContaining('its peer runs on machines, and it is left out')])
    const consumer = { ...consuming('b0', 'details'), type: 'iaas' as const }
    const offer = { ...offering(), crossRelations: [connected(8, ALIAS, 'b0')] }
    const other = await peersOf(createStandIn({ istio: offer, bookinfo: consumer }, { version }), 'istio')
    expect([other.peers, other.unknown]).toEqual([[], []])
  })

  test('both sides have the real names', async () => {
    const istio = { ...offering(), crossRelations: [connected(8, ALIAS, 'b0')] }
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details') }, { version })
    expect((await peersOf(world, 'istio')).peers).toEqual(['8 gateway provides bookinfo/details'])
    expect((await peersOf(world, 'bookinfo')).peers).toEqual(['0 details requires istio/gateway'])
    expect((await peersOf(world, 'mk8scloud:admin/bookinfo')).peers).toEqual(['0 details requires istio/gateway'])
  })
})

test('a consumer that says its name is known by it, whoever may read its model', async () => {
  const data = { cmr_data: JSON.stringify({ app_name: 'details', juju_model_name: 'bookinfo' }) }
  const istio: StandInModel = {
    ...offering(),
    offers: { hub, names: { ...hub, endpoint: 'provide-cmr-mesh', interface: 'cross_model_mesh' } },
    crossRelations: [
      connected(8, ALIAS, 'ffff'),
      { ...connected(9, ALIAS, 'ffff'), endpoint: 'provide-cmr-mesh', other: 'require-cmr-mesh', data },
    ],
  }
  expect((await peersOf(createStandIn({ istio }), 'istio')).peers).toEqual([
    '8 gateway provides bookinfo/details',
    '9 gateway provides bookinfo/details',
  ])
})

describe('a consumer that publishes the name of somebody else', () => {
  const claiming = (claim: { app_name: string; juju_model_name: string }, from?: string): StandInModel => ({
    ...offering(),
    crossRelations: [{ ...connected(8, ALIAS, from ?? 'ffff'), data: { cmr_data: JSON.stringify(claim) } }],
  })
  const missing = expect.stringContaining('which is not its own as far as Juju says')

  test('is not taken for an application of the model that it is related to', async () => {
    const istio = claiming({ app_name: 'gateway', juju_model_name: 'istio' })
    const { peers, unknown } = await peersOf(createStandIn({ istio }), 'istio')
    expect([peers, unknown]).toEqual([[], [missing]])
  })

  test('is not taken for one of another model than Juju names', async () => {
    const istio = claiming({ app_name: 'pay', juju_model_name: 'bank' }, 'b0')
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details') })
    const { peers, unknown } = await peersOf(world, 'istio')
    expect([peers, unknown]).toEqual([[], [missing]])
  })

  test('is not taken for an application that does not consume the offer', async () => {
    const istio = claiming({ app_name: 'reviews', juju_model_name: 'bookinfo' }, 'b0')
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details') })
    const { peers, unknown } = await peersOf(world, 'istio')
    expect([peers, unknown]).toEqual([[], [missing]])
  })

  test('is believed where Juju names its model, and the application consumes the offer', async () => {
    const istio = claiming({ app_name: 'reviews', juju_model_name: 'bookinfo' }, 'b0')
    const world = createStandIn({ istio, bookinfo: consuming('b0', 'details', 'reviews') })
    expect((await peersOf(world, 'istio')).peers).toEqual(['8 gateway provides bookinfo/reviews'])
  })
})

test('an offer of a model with the same name, of another user, is not taken for one of the model itself', async () => {
  const istio = {
    ...offering(),
    applications: { gateway: app('istio-beacon-k8s'), details: app('details') },
    saas: { far: { ...hub, application: '', url: 'bob/istio.hub' } },
    crossRelations: [{ id: 7, application: 'details', endpoint: 'service-mesh', alias: 'far', other: 'mesh' }],
  }
  const world = createStandIn({ istio })
  world.instead.offers = { code: 1, stdout: '', stderr: 'ERROR permission denied' }
  const run = runStandIn(world)
  const { models } = await askJuju(async (args) => {
    if (args.includes('--model=mk8scloud:bob/istio')) throw new Failure('model mk8scloud:bob/istio not found')
    return await run(args)
  }, 'istio')
  const { documents, unknown } = deriveDocuments(models[0], models, { withPeers: false, isAll: true })
  expect(documents).toEqual([])
  expect(unknown).toEqual([expect.stringContaining('the application behind bob/istio.hub is missing')])
})
