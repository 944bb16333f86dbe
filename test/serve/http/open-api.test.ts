import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { openApi } from '../../../src/serve/http/open-api.ts'
import { createService } from '../../../src/serve/http/server.ts'
import { readSettings } from '../../../src/serve/http/settings.ts'
import { asyncApi } from '../../../src/serve/schemas/schemas.ts'
import { configure, createMesh, requires } from '../../helpers/beacon-world.ts'

type Operation = {
  readonly responses: Readonly<Record<string, { content: Readonly<Record<string, { schema: object }>> }>>
}
const described = openApi() as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

test('the description of the questions is valid OpenAPI', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(described) as never)
  expect(errors ?? []).toEqual([])
  expect(valid).toBe(true)
})

test('the description is kept in docs/reference as it is generated: npm run schemas writes it', () => {
  expect(JSON.parse(readFileSync('docs/reference/openapi.json', 'utf8'))).toEqual(openApi())
})

test('the description of the events is valid AsyncAPI', () => {
  const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json')
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const isValid = ajv.validate(schema, structuredClone(asyncApi()))
  expect(isValid ? [] : ajv.errors).toEqual([])
  expect(ajv.validate(schema, { ...asyncApi(), info: {} })).toBe(false)
})

/** Compares an answer with what is described of it. */
const problemsOf = (path: string, method: string, status: string, answer: unknown): unknown => {
  const { content } = described.paths[path]?.[method]?.responses[status] ?? { content: {} }
  const schema = Object.values(content)[0]?.schema
  if (schema === undefined) throw new Error(`${method} ${path} has no answer ${status}`)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const isValid = ajv.validate({ ...schema, components: described.components }, answer)
  return isValid ? [] : ajv.errors
}

test.each<[string, string, string]>([
  ['/applications', '/applications', '200'],
  ['/applications/{namespace}', '/applications/shop', '200'],
  ['/applications/{namespace}/{application}', '/applications/shop/db', '200'],
  ['/applications/{namespace}/{application}', '/applications/shop/nobody', 'default'],
  ['/explain', '/explain?from=shop/web&to=shop/db&port=9080', '200'],
  ['/explain', '/explain?to=shop/db', 'default'],
  ['/lint', '/lint?namespace=shop', '200'],
])('%s answers as it is described: %s', async (path, asked, status) => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: {} })
  await world.send('relation-changed', requires(7, { application: 'db' }))
  const answer = await world.app.request(asked)
  const isProblem = status === 'default'
  expect(answer.headers.get('content-type')).toBe(isProblem ? 'application/problem+json' : 'application/json')
  expect(problemsOf(path, 'get', status, await answer.json())).toEqual([])
})

test('each question that the app answers is described, and no other one is', () => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { app } = createService({ settings: readSettings({}), names: [], log, transport: () => Promise.reject() })
  const asked = app.routes
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
    .filter((one) => /^(get|post) /.test(one) && !/^post \/(\{function\})?$|health|schemas/.test(one))
  const named = Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect(named.toSorted()).toEqual(asked.toSorted())
})
