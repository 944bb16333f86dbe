import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { deriveDocuments } from '../../../src/cli/juju/documents.ts'
import { readModels } from '../../../src/cli/juju/parse-output.ts'

/** What is known of these outputs is in the README beside them. */
const recorded = (...names: string[]) =>
  names.map((path) => ({ path, text: readFileSync(`test/fixtures/juju/recorded/${path}`, 'utf8') }))

const CLITE = recorded('clite-status.json', 'clite-relations.txt', 'clite-units.json')
const FOO = recorded('foo-status.json', 'foo-relations.txt', 'foo-units.json')

const derived = (inputs: ReturnType<typeof recorded>, remotes = new Map()) => {
  const models = readModels(inputs)
  return models.map((model) => {
    const { documents, unknown } = deriveDocuments(model, models, { withPeers: false, isAll: true, remotes })
    const lines = documents.map(({ metadata, data }) => {
      const [relation, remote] = [JSON.parse(String(data.relation)), JSON.parse(String(data.remote))]
      const peer = `${remote.namespace === undefined ? '' : `${remote.namespace}/`}${remote.application}:${remote.endpoint}`
      const own = `${metadata.namespace}/${data.application}:${relation.endpoint}`
      return `${relation.id} ${own} ${relation.role} ${peer} (${relation.interface})`
    })
    return { lines, unknown }
  })
}

describe('what Juju 3 printed', () => {
  test('of cos-lite each relation with an id has its sides, interface and role, as the table says', () => {
    const [clite] = derived(CLITE)
    expect(clite?.lines).toEqual([
      '3 clite/traefik:ingress-per-unit provides prometheus:ingress (ingress_per_unit)',
      '4 clite/traefik:ingress-per-unit provides loki:ingress (ingress_per_unit)',
      '5 clite/traefik:traefik-route provides grafana:ingress (traefik_route)',
      '7 clite/alertmanager:alerting provides prometheus:alertmanager (alertmanager_dispatch)',
      '8 clite/prometheus:grafana-source provides grafana:grafana-source (grafana_datasource)',
      '9 clite/loki:grafana-source provides grafana:grafana-source (grafana_datasource)',
      '10 clite/alertmanager:grafana-source provides grafana:grafana-source (grafana_datasource)',
      '11 clite/alertmanager:alerting provides loki:alertmanager (alertmanager_dispatch)',
      '12 clite/prometheus:metrics-endpoint requires traefik:metrics-endpoint (prometheus_scrape)',
      '13 clite/prometheus:metrics-endpoint requires alertmanager:self-metrics-endpoint (prometheus_scrape)',
      '14 clite/prometheus:metrics-endpoint requires loki:metrics-endpoint (prometheus_scrape)',
      '15 clite/prometheus:metrics-endpoint requires grafana:metrics-endpoint (prometheus_scrape)',
      '16 clite/loki:grafana-dashboard provides grafana:grafana-dashboard (grafana_dashboard)',
      '17 clite/prometheus:grafana-dashboard provides grafana:grafana-dashboard (grafana_dashboard)',
      '18 clite/alertmanager:grafana-dashboard provides grafana:grafana-dashboard (grafana_dashboard)',
      '19 clite/traefik:ingress provides catalogue:ingress (ingress)',
      '21 clite/catalogue:catalogue provides prometheus:catalogue (catalogue)',
      '22 clite/catalogue:catalogue provides alertmanager:catalogue (catalogue)',
    ])
  })

  test('a relation across models has its real names on both sides', () => {
    const [foo, clite] = derived([...FOO, ...CLITE])
    expect(foo).toEqual({
      lines: [
        '0 foo/trfk:ingress provides clite/alertmanager:ingress (ingress)',
        '1000000000 foo/trfk:juju-identity provides clite/alertmanager:juju-identity (cross_model_mesh)',
      ],
      unknown: [],
    })
    expect(clite?.lines).toContain('23 clite/alertmanager:ingress requires foo/trfk:ingress (ingress)')
  })

  test('a relation across models waits for a name, or takes the one that is said', () => {
    const [alone] = derived(FOO)
    expect(alone?.unknown.join()).toContain('--remote alertmanager=NAMESPACE/APPLICATION')
    const [said] = derived(FOO, new Map([['alertmanager', { namespace: 'bank', application: 'am' }]]))
    expect(said?.lines).toEqual([
      '0 foo/trfk:ingress provides bank/am:ingress (ingress)',
      '1000000000 foo/trfk:juju-identity provides bank/am:juju-identity (cross_model_mesh)',
    ])
  })

  test('of 26 applications, whose units were not asked, nothing is told', () => {
    expect(derived(recorded('openstack-status.json'))).toEqual([{ lines: [], unknown: [] }])
  })
})

describe('what Juju 4 printed', () => {
  test('its status, its table and its units are read', () => {
    const [model] = readModels(recorded('juju4-status.json', 'juju4-relations.txt', 'juju4-units.json'))
    expect(model?.status.applications.testapp).toMatchObject({
      relations: { db: [{ application: 'dbalias', interface: 'dbi' }] },
      units: { 'testapp/0': { leader: true } },
    })
    expect(model?.rows).toEqual([
      {
        provider: 'mysql-test-app:application-peers',
        requirer: 'mysql-test-app:application-peers',
        interface: 'application-peers',
        status: '',
      },
    ])
    expect(model?.units.get('grafana-agent-k8s/0')).toMatchObject([
      { 'relation-id': 1, 'related-units': {} },
      { 'relation-id': 2, endpoint: 'grafana-dashboards-consumer', 'related-endpoint': 'grafana-dashboard' },
    ])
  })
})
