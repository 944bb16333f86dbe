import { expect, test } from 'vitest'
import {
  CONFIG_MAPS,
  configMap,
  createClient,
  DEPLOYMENTS,
  owners,
  POLICIES,
  SERVICES,
  STATEFUL_SETS,
  workload,
} from '../client.ts'

const ONE = `${CONFIG_MAPS}/one`
const applyAs = (manager: string, more = '') => `?fieldManager=${manager}${more}`

test('a created object belongs to its creator, named by fieldManager or User-Agent', () => {
  const client = createClient()
  const { object } = client.post(CONFIG_MAPS, configMap('one', { k: 'v' }, { labels: { a: 'b' } }))
  expect(owners(object)).toEqual([
    'tester Update {"f:data":{".":{},"f:k":{}},"f:metadata":{"f:labels":{".":{},"f:a":{}}}}',
  ])
  const named = client.post(`${CONFIG_MAPS}?fieldManager=me`, configMap('two', { k: 'v' }))
  expect(owners(named.object)).toEqual(['me Update {"f:data":{".":{},"f:k":{}}}'])
})

test('the creator of a workload owns what the server filled in, item by item', () => {
  const client = createClient()
  const { object } = client.post(STATEFUL_SETS, workload('StatefulSet', { serviceName: 'web' }))
  const main = object.metadata.managedFields.find((entry: { subresource?: string }) => entry.subresource === undefined)
  expect(main.fieldsV1['f:spec']).toEqual({
    'f:persistentVolumeClaimRetentionPolicy': { '.': {}, 'f:whenDeleted': {}, 'f:whenScaled': {} },
    'f:podManagementPolicy': {},
    'f:replicas': {},
    'f:revisionHistoryLimit': {},
    'f:selector': {},
    'f:serviceName': {},
    'f:template': {
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            'f:image': {},
            'f:imagePullPolicy': {},
            'f:name': {},
            'f:resources': {},
            'f:terminationMessagePath': {},
            'f:terminationMessagePolicy': {},
          },
        },
        'f:dnsPolicy': {},
        'f:restartPolicy': {},
        'f:schedulerName': {},
        'f:securityContext': {},
        'f:terminationGracePeriodSeconds': {},
      },
    },
    'f:updateStrategy': { 'f:rollingUpdate': { '.': {}, 'f:partition': {} }, 'f:type': {} },
  })
})

test('an apply that changes nothing writes nothing', () => {
  const client = createClient()
  client.post(`${STATEFUL_SETS}?fieldManager=juju`, workload('StatefulSet', {}, { team: 'blue' }))
  const config = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    spec: { template: { metadata: { labels: { mesh: 'on' } } } },
  }
  const first = client.patch(`${STATEFUL_SETS}/web${applyAs('m')}`, 'apply', config)
  const events: string[] = []
  client.api.subscribe(({ type }) => events.push(type))
  const second = client.patch(`${STATEFUL_SETS}/web${applyAs('m')}`, 'apply', config)
  expect(second.object).toEqual(first.object)
  expect(client.get(`${STATEFUL_SETS}/web`).object).toEqual(first.object)
  expect(events).toEqual([])
})

test('a manager that applies a value others hold shares it, without a time of its own', () => {
  const client = createClient()
  client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v' }))
  const { status, object } = client.patch(`${ONE}${applyAs('b')}`, 'apply', configMap('one', { k: 'v' }))
  expect(status).toBe(200)
  expect(
    object.metadata.managedFields.map(({ manager, time }: Record<string, string>) => [manager, time !== undefined]),
  ).toEqual([
    ['b', false],
    ['a', true],
  ])
})

test('a value goes when its last applier lets go of it', () => {
  const client = createClient()
  client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v', own: '1' }))
  client.patch(`${ONE}${applyAs('b')}`, 'apply', configMap('one', { k: 'v' }))
  expect(client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one')).object.data).toEqual({ k: 'v' })
  const last = client.patch(`${ONE}${applyAs('b')}`, 'apply', configMap('one'))
  expect(last.object.data).toBeUndefined()
  expect(last.object.metadata.managedFields).toBeUndefined()
})

test('conflicts are counted and listed by manager', () => {
  const client = createClient()
  client.post(`${CONFIG_MAPS}?fieldManager=u`, configMap('one', { k: 'v', l: 'v' }))
  client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { m: 'v' }))
  const { status, object } = client.patch(
    `${ONE}${applyAs('b')}`,
    'apply',
    configMap('one', { k: 'x', l: 'x', m: 'x' }),
  )
  expect(status).toBe(409)
  expect(object.message).toBe(
    'Apply failed with 3 conflicts: conflicts with "a":\n- .data.m\nconflicts with "u" using v1:\n- .data.k\n- .data.l',
  )
  expect(object.details.causes).toEqual([
    { reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.data.m' },
    { reason: 'FieldManagerConflict', message: 'conflict with "u" using v1', field: '.data.k' },
    { reason: 'FieldManagerConflict', message: 'conflict with "u" using v1', field: '.data.l' },
  ])
})

test('force takes fields from their owners', () => {
  const client = createClient()
  client.post(`${CONFIG_MAPS}?fieldManager=u`, configMap('one', { k: 'v', l: 'v' }))
  const { object } = client.patch(`${ONE}${applyAs('a', '&force=true')}`, 'apply', configMap('one', { k: 'x' }))
  expect(object.data).toEqual({ k: 'x', l: 'v' })
  expect(owners(object)).toEqual(['a Apply {"f:data":{"f:k":{}}}', 'u Update {"f:data":{".":{},"f:l":{}}}'])
})

test('an update takes over what it changes, and applying the old value again is a conflict', () => {
  const client = createClient()
  client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v', l: 'v' }))
  const { object } = client.patch(`${ONE}${applyAs('u')}`, 'merge', { data: { k: 'x' } })
  expect(owners(object)).toEqual(['a Apply {"f:data":{"f:l":{}}}', 'u Update {"f:data":{"f:k":{}}}'])
  expect(client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v', l: 'v' })).status).toBe(409)
})

test('the same name is two owners as applier and as updater', () => {
  const client = createClient()
  client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v' }))
  client.patch(`${ONE}${applyAs('a')}`, 'merge', { data: { l: 'v' } })
  const { object } = client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'v' }))
  expect(owners(object)).toEqual(['a Apply {"f:data":{"f:k":{}}}', 'a Update {"f:data":{"f:l":{}}}'])
  expect(object.data).toEqual({ k: 'v', l: 'v' })
})

test('what nobody tracked before the first apply is held against it', () => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('one', { k: 'v' }))
  client.patch(ONE, 'merge', { metadata: { managedFields: [{}] } })
  expect(owners(client.get(ONE).object)).toEqual([])
  const refused = client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { k: 'x' }))
  expect(refused.object.message).toBe(
    'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k',
  )
  const { object } = client.patch(`${ONE}${applyAs('a')}`, 'apply', configMap('one', { l: 'x' }))
  expect(owners(object)).toEqual([
    'a Apply {"f:data":{"f:l":{}}}',
    'before-first-apply Update {"f:data":{".":{},"f:k":{}}}',
  ])
})

test('items of an associative list are owned by their keys; defaults complete a key', () => {
  const client = createClient()
  client.post(`${SERVICES}?fieldManager=u`, {
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  })
  const config = { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ name: 'metrics', port: 9090 }] } }
  const { object } = client.patch(`${SERVICES}/s${applyAs('a')}`, 'apply', config)
  expect(object.spec.ports.map(({ port }: { port: number }) => port)).toEqual([80, 9090])
  expect(owners(object)[0]).toBe(
    'a Apply {"f:spec":{"f:ports":{"k:{\\"port\\":9090,\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:port":{}}}}}',
  )
  const gone = client.patch(`${SERVICES}/s${applyAs('a')}`, 'apply', { apiVersion: 'v1', kind: 'Service' })
  expect(gone.object.spec.ports.map(({ port }: { port: number }) => port)).toEqual([80])
})

test('a container of another manager takes more fields, and loses only those', () => {
  const client = createClient()
  client.post(`${DEPLOYMENTS}?fieldManager=u`, workload('Deployment'))
  const container = (more: object) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { template: { spec: { containers: [{ name: 'c', ...more }] } } },
  })
  const conflict = client.patch(`${DEPLOYMENTS}/web${applyAs('a')}`, 'apply', container({ image: 'other' }))
  expect(conflict.object.details.causes[0].field).toBe('.spec.template.spec.containers[name="c"].image')
  const added = client.patch(
    `${DEPLOYMENTS}/web${applyAs('a')}`,
    'apply',
    container({ env: [{ name: 'E', value: '1' }] }),
  )
  expect(added.object.spec.template.spec.containers[0].env).toEqual([{ name: 'E', value: '1' }])
  const back = client.patch(`${DEPLOYMENTS}/web${applyAs('a')}`, 'apply', container({}))
  expect(back.object.spec.template.spec.containers).toEqual([
    expect.objectContaining({ name: 'c', image: 'example.invalid/x:1' }),
  ])
  expect(back.object.spec.template.spec.containers[0].env).toBeUndefined()
})

test('lists of custom resources are owned as a whole, maps member by member', () => {
  const client = createClient()
  const config = (spec: object) => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'p' },
    spec,
  })
  client.patch(
    `${POLICIES}/p${applyAs('a')}`,
    'apply',
    config({ rules: [{}], selector: { matchLabels: { app: 'x' } } }),
  )
  const { object } = client.patch(`${POLICIES}/p${applyAs('b')}`, 'apply', config({ rules: [{ to: [] }] }))
  expect(object.details.causes[0].field).toBe('.spec.rules')
  expect(owners(client.get(`${POLICIES}/p`).object)).toEqual([
    'a Apply {"f:spec":{"f:rules":{},"f:selector":{"f:matchLabels":{"f:app":{}}}}}',
  ])
})

test('status is owned, and written, apart', () => {
  const client = createClient()
  client.post(POLICIES, {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'p' },
    spec: {},
    status: { a: 1 },
  })
  const before = client.get(`${POLICIES}/p`).object
  expect(before.status).toBeUndefined()
  const { object } = client.patch(`${POLICIES}/p/status${applyAs('s')}`, 'merge', {
    status: { a: 2 },
    spec: { action: 'DENY' },
  })
  expect(object.status).toEqual({ a: 2 })
  expect(object.spec).toEqual({})
  expect(object.metadata.generation).toBe(1)
  expect(owners(object)).toContain('s Update status {"f:status":{".":{},"f:a":{}}}')
})

test('a dry run answers as if, and leaves nothing', () => {
  const client = createClient()
  const { status, object } = client.patch(`${ONE}${applyAs('a', '&dryRun=All')}`, 'apply', configMap('one', { k: 'v' }))
  expect([status, object.data]).toEqual([201, { k: 'v' }])
  expect(client.get(ONE).status).toBe(404)
})
