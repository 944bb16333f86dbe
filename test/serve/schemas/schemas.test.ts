import { globSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { announcementData } from '../../../src/features/services/service-announcements.ts'
import { described } from '../../../src/serve/schemas/described.ts'
import { meanings } from '../../../src/serve/schemas/meanings.ts'
import { referenceFiles } from '../../../src/serve/schemas/reference-files.ts'
import { asyncApi, eventTypes, schemas } from '../../../src/serve/schemas/schemas.ts'
import { functions } from '../../helpers/functions.ts'
import { createWorld, event, service, workload } from '../../helpers/world.ts'
import { commandsOf, pages } from '../../process/pages.ts'

const folder = new URL('../../../docs/reference/', import.meta.url)

const validators = new Map<string, ValidateFunction>()

const validatorOf = (name: string): ValidateFunction => {
  const known = validators.get(name)
  if (known) return known
  const made = new Ajv2020({ strict: true, validateFormats: false }).compile(schemas[name]?.() ?? false)
  validators.set(name, made)
  return made
}

type Schema = { readonly [key: string]: unknown }

/** The schemas of all keys within a schema, each by its name. */
const keysIn = (schema: Schema): [string, Schema][] =>
  Object.entries(schema).flatMap(([keyword, value]): [string, Schema][] => {
    if (typeof value !== 'object' || value === null) return []
    const inner = Object.entries(value as Record<string, Schema>)
    if (keyword === 'properties') return inner.flatMap(([name, one]) => [[name, one], ...keysIn(one)])
    return Array.isArray(value) ? inner.flatMap(([, one]) => keysIn(one)) : keysIn(value as Schema)
  })

type AsyncApi = {
  readonly channels: Readonly<
    Record<string, { readonly messages: Readonly<Record<string, { readonly $ref: string }>> }>
  >
  readonly components: { readonly messages: Readonly<Record<string, { readonly name: string }>> }
}

/** Ports as JSON, and whether they are some. */
const PORTS = {
  ...{
    '1': true,
    '80': true,
    '65535': true,
    '"80"': true,
    '"080"': true,
    '"00001"': true,
    '"65535"': true,
    '80.0': true,
  },
  ...{
    '0': false,
    '-1': false,
    '65536': false,
    '70000': false,
    '80.5': false,
    true: false,
    null: false,
    '[80]': false,
  },
  ...{
    '"0"': false,
    '"000"': false,
    '"65536"': false,
    '"70000"': false,
    '"100000"': false,
    '""': false,
    '" 80"': false,
  },
  ...{ '"80\\n"': false, '"8e1"': false, '"+80"': false, '"80.0"': false, '"٨٠"': false, '"http"': false },
}

const MESH_POLICY = {
  ...{ source_namespace: 'shop', source_app_name: 'api', target_namespace: 'shop', target_app_name: 'web' },
  endpoints: [],
}

describe('the schemas', () => {
  test('the schemas are kept in docs/reference as they are generated: npm run schemas writes them', () => {
    const kept = readdirSync(folder)
      .filter((name) => name !== 'openapi.json')
      .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')])
    expect(Object.fromEntries(kept)).toEqual(referenceFiles())
  })

  test('the schemas take every event that the docs send', () => {
    const sent = pages()
      .flatMap(commandsOf)
      .flatMap((one) => (one.sent.startsWith('{') ? [JSON.parse(one.sent)] : []))
    expect(sent.length).toBeGreaterThan(20)
    for (const { type, data = {} } of sent) {
      const validate = validatorOf(type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1'))
      validate(data)
      expect([type, validate.errors ?? []]).toEqual([type, []])
    }
  })

  test('the schemas take every config that docs/policies.md says to write', () => {
    const page = readFileSync('docs/policies.md', 'utf8')
    const [, recipes = ''] = /^## Recipes\n(.*?)^## /ms.exec(page) ?? []
    const rows = [...recipes.matchAll(/^\|.*?\| `(.*?)` \|/gm)].map(([, config = '']) => config)
    const blocks = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = '']) => block)
    expect([rows.length >= 10, blocks.length]).toEqual([true, 1])
    const validate = validatorOf('config')
    for (const text of [...rows, ...blocks]) {
      validate(parse(text))
      expect([text, validate.errors ?? []]).toEqual([text, []])
    }
  })

  test.each([
    ['config', { polices: [] }],
    ['config', { meshPolicies: [{ source_namespace: 'shop' }] }],
    ['config', { workload: 'web' }],
    ['config', { policies: [{ type: 'app', relation: 'x', endpoints: [{ methods: ['get'] }] }] }],
    [
      'relation',
      {
        relation: { id: '1', endpoint: 'a', interface: 'b', role: 'provides' },
        remote: { application: 'a', data: {} },
      },
    ],
    ['expect', { expect: [{ to: 'db', port: 80, allowed: true }] }],
    ['pod-restarted', { pods: {} }],
  ])('of %s refuse %o', (name, value) => {
    expect(validatorOf(name)(value)).toBe(false)
  })

  test.each(Object.keys(schemas))('of %s is one of Ajv’s strict mode, and says what it is', (name) => {
    validatorOf(name)
    expect(schemas[name]?.()).toMatchObject({
      $id: `https://meshstep.dev/schemas/${name}.json`,
      title: expect.stringMatching(/\w/),
      description: expect.stringMatching(/^[A-Z].*\.$/s),
    })
  })

  test.each(Object.keys(schemas))('of %s has a sentence for each key, and no sentence is left over', (name) => {
    const keys = keysIn(schemas[name]?.() ?? {})
    for (const [key, { description }] of keys)
      expect([key, description]).toEqual([key, expect.stringMatching(/^[A-Z`].*\.$/s)])
    const used = new Set(keys.map(([, { description }]) => description))
    const said = Object.values(meanings[name] ?? {})
    expect(said.filter((meaning) => !used.has(meaning))).toEqual([])
  })

  test('a key without a sentence is refused by its name', () => {
    const schema = { type: 'object', properties: { port: { type: 'integer' } } }
    expect(() =>
      described({ type: 'object', properties: { units: { type: 'array', items: schema } } }, { units: 'U.' }),
    ).toThrow('units[].port has no meaning')
  })

  test.each([...Object.entries(PORTS)])(
    'the port %s is taken, or refused, by each place alike',
    async (text, isPort) => {
      const port = JSON.parse(text)
      const endpoints = [{ ports: [port] }]
      const configs = [
        { services: { db: { name: 'web', port } } },
        { policies: [{ type: 'app', relation: 'db', endpoints }] },
        { policies: [{ type: 'unit', relation: 'db', ports: [port] }] },
        { meshPolicies: [{ ...MESH_POLICY, endpoints }] },
        { mesh: { backends: [{ application: 'db', ports: [port] }] } },
        { coordinator: { roles: ['read'], workerPorts: { read: [port] } } },
        { expect: [{ to: 'shop/db', port, allowed: true }] },
      ]
      const validate = validatorOf('config')
      for (const config of configs) {
        const response = await createWorld().post(event('config-changed', { application: 'web', config }))
        const asked = JSON.stringify(config)
        expect([asked, response.status, validate(config)]).toEqual([asked, isPort ? 200 : 400, isPort])
      }
    },
  )

  test('the schemas are served by name', async () => {
    const { app } = createWorld()
    expect(await (await app.request('/schemas/config.json')).json()).toEqual(schemas.config?.())
    expect(await (await app.request('/schemas/asyncapi.json')).json()).toEqual(asyncApi())
    const response = await app.request('/schemas/constructor.json')
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { message: expect.stringContaining('config, relation') },
    ])
  })

  test('AsyncAPI and EventTypes name every event', () => {
    const types = functions.map(({ type }) => type)
    expect(eventTypes().map(({ spec }) => spec.attributes[0]?.value)).toEqual(types)
    for (const type of types) expect(JSON.stringify(asyncApi())).toContain(`"const":"${type}"`)
    const kept = readFileSync(new URL('../../../knative/base/event-types.yaml', import.meta.url), 'utf8')
    expect(parseAllDocuments(kept).map((one) => one.toJS())).toEqual(eventTypes())
  })

  test('AsyncAPI names every type that the code can send, and refers only to messages that it has', () => {
    const { channels, components } = asyncApi() as unknown as AsyncApi
    const named = Object.values(components.messages).map(({ name }) => name)
    const written = globSync('src/**/*.ts').flatMap(
      (file) => readFileSync(file, 'utf8').match(/dev\.meshstep\.[\w-]+\.v\d/g) ?? [],
    )
    expect(new Set(written)).toContain('dev.meshstep.planned.v1')
    for (const type of written) expect(named).toContain(type)
    const referred = Object.values(channels).flatMap(({ messages }) => Object.values(messages))
    const known = Object.keys(components.messages).map((name) => `#/components/messages/${name}`)
    expect(new Set(referred.map(({ $ref }) => $ref))).toEqual(new Set(known))
  })

  test('AsyncAPI has each event that is sent in the channel of its kind, with a schema that takes its data', async () => {
    const { channels } = asyncApi() as unknown as AsyncApi
    const world = createWorld([workload(), service(), service('db')])
    const offered = (port: string) => ({
      relation: { id: 3, endpoint: 'database', interface: 'k8s-service', role: 'requires' },
      remote: { application: 'db', data: { 'service-name': 'db', 'service-port': port, more: port } },
    })
    const answers = [
      await world.send('config-changed', { config: { labels: { team: 'a' } }, settings: { size: '1' } }),
      await world.send('relation-changed', offered('1')),
      await world.send('relation-changed', offered('2')),
      await world.send('relation-broken', { relation: { id: 3 } }),
      await world.send('resync', {}),
      await world.send('config-changed', { application: 'beacon', config: { mesh: {} } }),
    ]
    const sent = [
      ...answers.map((data) => ({ channel: 'answers', name: 'reconciled', data })),
      ...world.published.map(({ type, data }) => ({ channel: 'sink', name: type.split('.')[2] ?? '', data })),
    ]
    for (const { channel, name, data } of sent) {
      const validate = validatorOf(name)
      validate(data)
      expect([name, validate.errors ?? []]).toEqual([name, []])
      expect(Object.keys(channels[channel]?.messages ?? {})).toContain(name)
    }
    const names = new Set(sent.map(({ name }) => name))
    for (const name of Object.keys(announcementData)) expect(names).toContain(name)
  })
})
