import { readFileSync } from 'node:fs'
import { readModels } from '../../../src/cli/juju/parse-output.ts'
import { type App, app, emptyModel, type Rel, type StandInModel } from './stand-in.ts'

const read = (...paths: string[]) =>
  readModels(paths.map((path) => ({ path, text: readFileSync(`test/fixtures/juju/recorded/${path}`, 'utf8') })))[0]

/** The ids of the rows whose units were not recorded: the numbers that are left. */
const LEFT: Readonly<Record<string, number>> = {
  'grafana:grafana': 1,
  'traefik:ingress alertmanager:ingress': 6,
  'catalogue:catalogue grafana:catalogue': 20,
}

const endOf = (side: string) => {
  const [application = '', endpoint = ''] = side.split(':')
  return { application, endpoint }
}

/** The six charms of the recorded cos-lite, with their relations. */
const cosLite = (): { applications: Record<string, App>; relations: Rel[] } => {
  const model = read('clite-status.json', 'clite-relations.txt', 'clite-units.json')
  if (model === undefined) throw new Error('nothing is recorded')
  const infos = [...model.units].flatMap(([unit, all]) => all.map((info) => ({ unit, info })))
  const idOf = (provider: string, requirer: string): number => {
    const found = infos.find(({ unit, info }) => {
      const own = `${unit.split('/')[0]}:${info.endpoint}`
      const others = Object.keys(info['related-units']).map((one) => `${one.split('/')[0]}:${info['related-endpoint']}`)
      const peers = others.length === 0 ? [`${unit.split('/')[0]}:${info['related-endpoint']}`] : others
      return (own === provider && peers.includes(requirer)) || (own === requirer && peers.includes(provider))
    })
    return found?.info['relation-id'] ?? LEFT[`${provider} ${requirer}`] ?? LEFT[provider] ?? -1
  }
  const raw = JSON.parse(readFileSync('test/fixtures/juju/recorded/clite-status.json', 'utf8'))
  return {
    applications: Object.fromEntries(
      Object.entries(model.status.applications).map(([name, one]) => [
        name,
        {
          charm: raw.applications[name].charm,
          revision: raw.applications[name]['charm-rev'],
          units: 'units' in one ? Object.keys(one.units).map((unit) => Number(unit.split('/')[1])) : [],
        },
      ]),
    ),
    relations: model.rows.map(({ provider, requirer, interface: kind }) => ({
      id: idOf(provider, requirer),
      ...{ provider: endOf(provider), requirer: endOf(requirer), interface: kind },
    })),
  }
}

/**
 * A model of ten public charms: those of the recorded cos-lite, three of the recorded openstack with two of their relations, and a beacon. The name of the
 * model, the ids of the relations of the last four, and the databags are made up.
 */
export const tenCharms = (): StandInModel => {
  const { applications, relations } = cosLite()
  return {
    ...emptyModel('b9d3db4c-49c9-4802-8269-a9b03216fc34'),
    applications: {
      ...applications,
      mysql: app('mysql-k8s', 85),
      keystone: app('keystone-k8s', 114),
      'keystone-mysql-router': app('mysql-router-k8s', 46),
      beacon: app('istio-beacon-k8s'),
    },
    relations: [
      ...relations,
      {
        id: 30,
        provider: { application: 'mysql', endpoint: 'database', data: { password: 'secret' } },
        requirer: { application: 'keystone-mysql-router', endpoint: 'backend-database' },
        interface: 'mysql_client',
      },
      {
        id: 31,
        provider: { application: 'keystone-mysql-router', endpoint: 'database' },
        requirer: { application: 'keystone', endpoint: 'database' },
        interface: 'mysql_client',
      },
    ],
    offers: {
      alertmanager: { application: 'alertmanager', endpoint: 'ingress', interface: 'ingress', role: 'requirer' },
    },
  }
}
