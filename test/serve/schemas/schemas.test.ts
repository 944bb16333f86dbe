import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { referenceFiles } from '../../../src/serve/schemas/reference-files.ts'
import { asyncApi, eventTypes, schemas } from '../../../src/serve/schemas/schemas.ts'
import { functions } from '../../helpers/functions.ts'
import { createWorld, event } from '../../helpers/world.ts'
import { commandsOf, pages } from '../../process/pages.ts'

const folder = new URL('../../../docs/reference/', import.meta.url)

const validatorOf = (name: string) =>
  new Ajv2020({ strict: false, validateFormats: false }).compile(schemas[name]?.() ?? false)

describe('the schemas', () => {
  test('are kept in docs/reference as they are generated: npm run schemas writes them', () => {
    const kept = readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')])
    expect(Object.fromEntries(kept)).toEqual(referenceFiles())
  })

  test('take every event that the docs send', () => {
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

  test.each([
    ['config', { polices: [] }],
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

  test.each([80, '80', '080'])('take the port %j, as the functions do', async (port) => {
    const config = { services: { db: { name: 'web', port } } }
    const response = await createWorld().post(event('config-changed', { application: 'web', config }))
    expect([response.status, validatorOf('config')(config)]).toEqual([200, true])
  })

  test('are served by name', async () => {
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
  })
})
