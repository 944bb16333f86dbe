import { describe, expect, test } from 'vitest'
import { NAMESPACE } from '../../helpers/world.ts'
import { type Followed, followed } from './followed.ts'
import { app, appOf, createStandIn, emptyModel, type World as Juju, type Rel, type StandInModel } from './stand-in.ts'
import { tenCharms } from './ten.ts'

/** The relations that a model has, by their sides; those of other models with the real name of the peer. */
const expected = (model: StandInModel, names: Readonly<Record<string, string>>): string[] => {
  const isHere = (name: string) =>
    model.applications[name] !== undefined && model.applications[name]?.life === undefined
  const local = model.relations
    .filter(({ provider, requirer }) => provider.application !== requirer.application)
    .filter(({ provider, requirer, status }) => isHere(provider.application) && isHere(requirer.application) && !status)
    .map(
      ({ id, provider, requirer }) =>
        `${id} ${provider.application}:${provider.endpoint} ${requirer.application}:${requirer.endpoint}`,
    )
  const across = model.crossRelations.map(
    ({ id, application, endpoint, alias, other }) => `${id} ${application}:${endpoint} ${names[alias]}:${other}`,
  )
  return [...local, ...across].toSorted()
}

/** The relations that the documents tell, in the same form. */
const told = (one: Followed): string[] =>
  one
    .documents()
    .map(({ data }) => {
      const [relation, remote] = [JSON.parse(data?.relation ?? ''), JSON.parse(data?.remote ?? '')]
      const own = `${data?.application}:${relation.endpoint}`
      const peer = `${remote.namespace === undefined ? '' : `${remote.namespace}/`}${remote.application}:${remote.endpoint}`
      const isTurned = relation.role === 'requires' && remote.namespace === undefined
      return `${relation.id} ${isTurned ? peer : own} ${isTurned ? own : peer}`
    })
    .toSorted()

type Entry = { interface: string; role: string; status: string; id: number }

/** The ids of the relations that stand in the memory of an application. */
const remembered = ({ world }: Followed, application: string): number[] => {
  const relations = (world.memory(application)?.state.relations ?? {}) as Record<string, Entry>
  const standing = Object.entries(relations).filter(([, { status }]) => status === 'established')
  return standing.map(([key]) => Number(key.split('/')[0])).toSorted((a, b) => a - b)
}

const idsOf = (model: StandInModel, names: Readonly<Record<string, string>>, application: string): number[] =>
  expected(model, names)
    .filter((line) =>
      line
        .split(' ')
        .slice(1)
        .some((side) => side.startsWith(`${application}:`)),
    )
    .map((line) => Number(line.split(' ')[0]))
    .toSorted((a, b) => a - b)

const isOnMesh = ({ world }: Followed, application: string): boolean =>
  world.labels(application).template['istio.io/dataplane-mode'] === 'ambient'

/** The beacon, and what is related to it. */
const membersOf = ({ applications, relations }: StandInModel): string[] => [
  ...(applications.beacon === undefined ? [] : ['beacon']),
  ...relations.filter((one) => one.interface === 'service_mesh').map(({ requirer }) => requirer.application),
]

const joining = (id: number, application: string): Rel => ({
  id,
  provider: { application: 'beacon', endpoint: 'service-mesh' },
  requirer: { application, endpoint: 'service-mesh' },
  interface: 'service_mesh',
})

const between = (id: number, kind: string, provider: string, requirer: string): Rel => {
  const [one = '', other = ''] = [provider, requirer]
  const end = (side: string) => ({ application: side.split(':')[0] ?? '', endpoint: side.split(':')[1] ?? '' })
  return { id, provider: end(one), requirer: end(other), interface: kind }
}

const without = (model: StandInModel, ...ids: number[]): void => {
  model.relations = model.relations.filter(({ id }) => !ids.includes(id))
}

/** Removes an application without any hook: it and its relations are gone at once. */
const removeByForce = (model: StandInModel, name: string): void => {
  delete model.applications[name]
  model.relations = model.relations.filter(
    ({ provider, requirer }) => provider.application !== name && requirer.application !== name,
  )
  model.crossRelations = model.crossRelations.filter(({ application }) => application !== name)
}

const ALIAS = 'remote-38811d7f76ad47ac84be46b165e53828'
const SECOND = 'remote-0123456789abcdef0123456789abcdef'

type Change = {
  readonly name: string
  change(model: StandInModel, juju: Juju): void
  /** The applications whose end is told. */
  readonly ended?: readonly string[]
  /** What the round fails with. Then nothing at all may have changed. */
  readonly fails?: RegExp
}

const CHANGES: readonly Change[] = [
  { name: 'the model as it was recorded', change: () => undefined },
  { name: 'an application joins the mesh', change: (model) => model.relations.push(joining(40, 'loki')) },
  {
    name: 'two more join it at once',
    change: (model) => model.relations.push(joining(41, 'alertmanager'), joining(42, 'traefik')),
  },
  {
    name: 'a relation comes',
    change: (model) => model.relations.push(between(24, 'loki_push_api', 'loki:logging', 'traefik:logging')),
  },
  { name: 'a relation goes', change: (model) => without(model, 11) },
  {
    name: 'an application is scaled up',
    change: (model) => void appOf(model, 'prometheus').units.push(2, 3),
  },
  {
    name: 'an application is scaled to nothing',
    change: (model) => {
      appOf(model, 'prometheus').units = []
    },
  },
  {
    name: 'both sides of a relation have no unit',
    change: (model) => {
      appOf(model, 'catalogue').units = []
    },
  },
  {
    name: 'a unit of each comes back',
    change: (model) => {
      appOf(model, 'prometheus').units = [4]
      appOf(model, 'catalogue').units = [1]
    },
  },
  {
    name: 'a relation is suspended',
    change: (model) => {
      for (const one of model.relations) if (one.id === 7) one.status = 'suspended'
    },
  },
  {
    name: 'a relation is resumed',
    change: (model) => {
      for (const one of model.relations) delete one.status
    },
  },
  {
    name: 'the controller is away',
    change: (_, juju) => {
      juju.isUp = false
    },
    fails: /connection refused/,
  },
  {
    name: 'the controller is back',
    change: (_, juju) => {
      juju.isUp = true
    },
  },
  {
    name: 'an offer is consumed by another model',
    change: (model, juju) => {
      const foo = { ...emptyModel('f00'), applications: { trfk: app('traefik-k8s', 125) } }
      foo.saas = {
        alertmanager: {
          url: `admin/${NAMESPACE}.alertmanager`,
          application: '',
          endpoint: 'ingress',
          interface: 'ingress',
          role: 'requirer',
        },
      }
      foo.crossRelations = [
        { id: 0, application: 'trfk', endpoint: 'ingress', alias: 'alertmanager', other: 'ingress' },
      ]
      juju.models.foo = foo
      model.crossRelations.push({
        ...{ id: 23, application: 'alertmanager', endpoint: 'ingress', alias: ALIAS, other: 'ingress', from: 'f00' },
      })
    },
  },
  {
    name: 'the offer is consumed by a third model',
    change: (model, juju) => {
      const bar = structuredClone(juju.models.foo ?? emptyModel(''))
      juju.models.bar = { ...bar, uuid: 'ba2' }
      model.crossRelations.push({
        ...{ id: 26, application: 'alertmanager', endpoint: 'ingress', alias: SECOND, other: 'ingress', from: 'ba2' },
      })
    },
  },
  {
    name: 'an offer of another model is consumed',
    change: (model, juju) => {
      const bank = emptyModel('ba9', 'caas')
      bank.offers = { ledger: { application: 'pg', endpoint: 'db', interface: 'postgresql_client', role: 'provider' } }
      juju.models.bank = bank
      model.saas.far = {
        url: 'admin/bank.ledger',
        application: '',
        endpoint: 'db',
        interface: 'postgresql_client',
        role: 'provider',
      }
      model.crossRelations.push({ id: 50, application: 'keystone', endpoint: 'database', alias: 'far', other: 'db' })
    },
  },
  {
    name: 'a relation across models ends',
    change: (model) => {
      model.crossRelations = model.crossRelations.filter(({ id }) => id !== 26)
    },
  },
  {
    name: 'an application is dying',
    change: (model) => {
      appOf(model, 'grafana').life = 'dying'
    },
  },
  { name: 'it is gone', change: (model) => removeByForce(model, 'grafana'), ended: ['grafana'] },
  {
    name: 'an application on the mesh is removed by force',
    change: (model) => removeByForce(model, 'loki'),
    ended: ['loki'],
  },
  {
    name: 'a relation is made anew, with another id',
    change: (model) => {
      without(model, 30)
      model.relations.push(between(60, 'mysql_client', 'mysql:database', 'keystone-mysql-router:backend-database'))
    },
  },
  {
    name: 'Juju prints half of a status',
    change: (_, juju) => {
      juju.instead.status = { code: 0, stdout: '{"model":{"name":"shop"', stderr: '' }
    },
    fails: /expected what juju status/,
  },
  {
    name: 'Juju prints nothing but an error',
    change: (_, juju) => {
      juju.instead.status = { code: 0, stdout: '{}', stderr: '' }
    },
    fails: /expected what juju status/,
  },
  {
    name: 'Juju shows no unit',
    change: (_, juju) => {
      juju.instead = { 'show-unit': { code: 0, stdout: '{}', stderr: '' } }
    },
    fails: /expected what juju status/,
  },
  {
    name: 'the application is deployed again under its name',
    change: (model, juju) => {
      juju.instead = {}
      model.applications.loki = app('loki-k8s', 85)
      model.relations.push(joining(61, 'loki'))
    },
  },
  {
    name: 'an application leaves the mesh',
    change: (model) => without(model, 41),
  },
  {
    name: 'all is removed',
    change: (model) => {
      for (const name of Object.keys(model.applications)) removeByForce(model, name)
      model.saas = {}
      model.offers = {}
    },
    ended: [
      ...['alertmanager', 'beacon', 'catalogue', 'keystone', 'keystone-mysql-router', 'loki', 'mysql', 'prometheus'],
      'traefik',
    ],
  },
]

const NAMES = { [ALIAS]: 'foo/trfk', [SECOND]: 'bar/trfk', far: 'bank/pg' }

describe.each(['3.1.2', '3.6.4', '4.0.5', '4.0.8'])('a model of ten charms of Juju %s', (version) => {
  test('each change is followed: the documents, the memories and the mesh are as the model', async () => {
    const model = tenCharms()
    const juju = createStandIn({ [NAMESPACE]: model }, { version })
    const applications = Object.keys(model.applications)
    expect(applications).toHaveLength(10)
    const one = followed(juju, applications)
    const owners = new Map<string, string | undefined>()
    await one.world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
    for (const { name, change, ended = [], fails } of CHANGES) {
      change(model, juju)
      const before = one.world.api.objects()
      if (fails) {
        await expect(one.round(), name).rejects.toThrow(fails)
        expect([name, one.world.api.objects()]).toEqual([name, before])
        continue
      }
      const { unknown, failures, ended: gone } = await one.round()
      expect([name, { unknown, failures, ended: gone.toSorted() }]).toEqual([
        name,
        { unknown: [], failures: [], ended },
      ])
      expect([name, told(one)]).toEqual([name, expected(model, NAMES)])
      for (const application of applications) {
        const ids = remembered(one, application)
        expect([name, application, ids]).toEqual([name, application, idsOf(model, NAMES, application)])
        const isMember = membersOf(model).includes(application)
        expect([name, application, isOnMesh(one, application)]).toEqual([name, application, isMember])
      }
      for (const { metadata, data } of one.documents()) {
        const owner = owners.get(metadata.name) ?? data?.application
        owners.set(metadata.name, owner)
        expect([name, metadata.name, data?.application], 'a document is of one application').toEqual([
          name,
          metadata.name,
          owner,
        ])
      }
      expect([name, (await one.round()).writes]).toEqual([name, []])
    }
  })
})
