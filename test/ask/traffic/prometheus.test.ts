import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createPrometheus } from '../../../src/ask/traffic/prometheus.ts'
import { startFakePrometheus, vectorOf } from '../../helpers/fake-prometheus.ts'
import { temporaryDirectory } from '../../process/helpers.ts'

const LIMITS = { timeoutMilliseconds: 5_000, mostSeries: 2, mostCharacters: 2_000 }

const answering = (status: number, body: string, type = 'application/json') =>
  startFakePrometheus((response) => response.writeHead(status, { 'content-type': type }).end(body))

const problemOf = async (url: string, limits = LIMITS): Promise<Error> =>
  await createPrometheus(
    { url },
    limits,
  )('up').then(
    () => expect.fail('the query is answered'),
    (error: Error) => error,
  )

test('a query is a form below the path of the URL, bounded in time and series, with the token', async () => {
  const { url, queries } = await answering(200, vectorOf([[{ reporter: 'source' }, 2.5]]))
  const tokenFile = join(await temporaryDirectory(), 'token')
  await writeFile(tokenFile, 'secret\n')
  const query = createPrometheus({ url: `${url}/select/0/prometheus/`, tokenFile }, LIMITS)
  expect(await query('sum(up)')).toEqual([{ labels: { reporter: 'source' }, value: 2.5 }])
  expect(queries).toMatchObject([
    { method: 'POST', path: '/select/0/prometheus/api/v1/query', headers: { authorization: 'Bearer secret' } },
  ])
  expect(Object.fromEntries(queries[0]?.form ?? [])).toEqual({ query: 'sum(up)', timeout: '5000ms', limit: '3' })
})

test('a token that changes is read again', async () => {
  const { url, queries } = await answering(200, vectorOf([]))
  const tokenFile = join(await temporaryDirectory(), 'token')
  const query = createPrometheus({ url, tokenFile }, LIMITS)
  for (const token of ['one', 'another']) {
    await writeFile(tokenFile, token)
    await query('up')
  }
  expect(queries.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer another'])
})

test('the headers of a file are sent, and read again when they change', async () => {
  const { url, queries } = await answering(200, vectorOf([]))
  const headersFile = join(await temporaryDirectory(), 'headers')
  const query = createPrometheus({ url, headersFile }, LIMITS)
  for (const text of ['X-Scope-OrgID: a|b\nAuthorization:  Basic dTpw \n', 'x-scope-orgid: another\r\n\n']) {
    await writeFile(headersFile, text)
    await query('up')
  }
  expect(queries.map(({ headers }) => [headers['x-scope-orgid'], headers.authorization])).toEqual([
    ['a|b', 'Basic dTpw'],
    ['another', undefined],
  ])
})

test.each([
  ['X-Scope-OrgID', 'line 1 is no header'],
  ['A: b\nsecret value', 'line 2 is no header'],
  ['A: secret\u0007', 'line 1 is no header'],
  ['Authorization: Basic secret', 'leave one of them out'],
])('a file of headers that cannot be sent is named, and its values are not: %j', async (text, problem) => {
  const folder = await temporaryDirectory()
  const [headersFile, tokenFile] = [join(folder, 'headers'), join(folder, 'token')]
  await writeFile(headersFile, text)
  await writeFile(tokenFile, 'secret')
  const error: Error = await createPrometheus(
    { url: 'http://127.0.0.1:1', headersFile, tokenFile },
    LIMITS,
  )('up').then(
    () => expect.fail('the query is answered'),
    (failed: Error) => failed,
  )
  expect([error.name, error.message]).toEqual(['ConfigurationError', expect.stringContaining(problem)])
  expect(error.message).toContain('PROMETHEUS_HEADERS_FILE')
  expect(error.message).not.toContain('secret')
})

describe('an error says what happened, where, what to do, and if a retry helps', () => {
  const json = (error: string) => JSON.stringify({ status: 'error', errorType: 'x', error })
  const three = vectorOf([1, 2, 3].map((number) => [{ number: `${number}` }, number]))
  const long = vectorOf([[{ a: 'x'.repeat(3_000) }, 1]])
  const sample = (metric: object, value: string) =>
    JSON.stringify({ data: { result: [{ metric, value: [1, value] }] } })
  const unsaid = (isPartial: boolean) => JSON.stringify({ ...JSON.parse(vectorOf([])), isPartial })
  const partly = (numbers: readonly number[]) =>
    JSON.stringify({ ...JSON.parse(vectorOf(numbers.map((number) => [{}, number]))), warnings: ['no store'] })
  const html = '<!doctype html>\n<title>Sign in</title>'
  test.each<[string, number, string, string, ...string[]]>([
    ['401', 401, 'no org id', 'ConfigurationError', '(401, no org id)', 'PROMETHEUS_HEADERS_FILE', 'not help'],
    ['403', 403, 'Forbidden', 'ConfigurationError', '(403, Forbidden)', 'PROMETHEUS_TOKEN_FILE', 'not help'],
    ['404', 404, 'not found', 'ConfigurationError', 'answers 404 (not found)', 'PROMETHEUS_URL', 'not help'],
    ['400', 400, json('parse error'), 'ConfigurationError', 'answers 400 (parse error)', 'not help'],
    ['422', 422, json('too many samples'), 'Refused', '(422, too many samples)', '-n', '--window', 'not help'],
    ['429', 429, 'slow down', 'Unavailable', 'answers 429 (slow down)', 'a retry may help'],
    ['503', 503, json('query timed out'), 'Unavailable', 'answers 503 (query timed out)', 'a retry may help'],
    ['a page', 200, html, 'ConfigurationError', 'answers <!doctype html> <title>', 'PROMETHEUS_URL', 'not help'],
    ['a number', 200, '1', 'ConfigurationError', 'answers 1, where', 'PROMETHEUS_URL'],
    ['nothing', 200, '', 'ConfigurationError', 'answers nothing', 'PROMETHEUS_URL'],
    ['no vector', 200, '{"data":{"result":[{"metric":{}}]}}', 'ConfigurationError', 'PROMETHEUS_URL'],
    ['no labels', 200, '{"data":{"result":[{"metric":null,"value":[1,"1"]}]}}', 'ConfigurationError', 'PROMETHEUS_URL'],
    ['a label that is no text', 200, sample({ a: 1 }, '1'), 'ConfigurationError', 'PROMETHEUS_URL'],
    ['no finite number', 200, sample({}, '+Inf'), 'ConfigurationError', 'PROMETHEUS_URL'],
    ['a number below zero', 200, sample({}, '-1'), 'ConfigurationError', 'PROMETHEUS_URL'],
    ['the signs of a terminal', 400, json('\u001b[2Jno'), 'ConfigurationError', 'answers 400 ([2Jno)'],
    ['a long error', 400, json('x'.repeat(200)), 'ConfigurationError', `(${'x'.repeat(80)})`],
    ['an error that is no text', 400, '{"error":{}}', 'ConfigurationError', 'answers 400 ({"error":{}})'],
    ['a part', 200, partly([]), 'Unavailable', 'not whole (no store)', 'a retry may help'],
    ['a part without a warning', 200, unsaid(true), 'Unavailable', 'not whole (isPartial)', 'a retry may help'],
    ['a part of too many series', 200, partly([1, 2, 3]), 'Refused', 'more than 2 series'],
    ['too many series', 200, three, 'Refused', 'more than 2 series', '-n', '--window', 'not help'],
    ['a long answer', 200, long, 'Refused', 'more than 2 series', '-n'],
  ])('%s', async (_, status, body, name, ...parts) => {
    const { url } = await answering(status, body)
    const problem = await problemOf(url)
    expect(problem.name).toBe(name)
    for (const part of [`${url}/api/v1/query`, ...parts]) expect(problem.message).toContain(part)
  })

  test('an answer that says that it is whole is taken', async () => {
    const { url } = await answering(200, unsaid(false))
    expect(await createPrometheus({ url }, LIMITS)('up')).toEqual([])
  })

  test('an answer that does not come in time is waited for no longer', async () => {
    const { url } = await startFakePrometheus((_: ServerResponse) => undefined)
    const problem = await problemOf(url, { ...LIMITS, timeoutMilliseconds: 50 })
    expect(problem).toMatchObject({ name: 'Unavailable', message: expect.stringContaining('aborted after 50 ms') })
    expect(problem.message).toContain('a retry may help')
  })

  test('nobody listens', async () => {
    const problem = await problemOf('http://127.0.0.1:1')
    expect(problem).toMatchObject({ name: 'Unavailable', message: expect.stringContaining('(ECONNREFUSED)') })
  })

  test.each(['', 'one\ntwo', 'one two', '\u001b'])('a file with %j has no token', async (content) => {
    const tokenFile = join(await temporaryDirectory(), 'token')
    await writeFile(tokenFile, content)
    const query = createPrometheus({ url: 'http://127.0.0.1:1', tokenFile }, LIMITS)
    await expect(query('up')).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('PROMETHEUS_TOKEN_FILE'),
    })
  })

  test('a file that is not there is named with its setting', async () => {
    const query = createPrometheus({ url: 'http://127.0.0.1:1', caFile: '/nowhere/ca.crt' }, LIMITS)
    await expect(query('up')).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(/^PROMETHEUS_CA_FILE: \/nowhere\/ca\.crt cannot be read/),
    })
  })
})
