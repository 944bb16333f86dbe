import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SendHttpRequest } from '../../../src/platform/base/http-request.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createSink } from '../../../src/platform/cloudevents/sink.ts'
import { fakeClock } from '../../helpers/clock.ts'

const EVENT: Event = {
  id: '1',
  source: '/test',
  type: 'dev.meshstep.resync.v1',
  subject: 'shop/web',
  datacontenttype: 'application/json',
  extensions: {},
  data: { a: 1 },
}

const publisher = (
  answers: readonly (number | Error)[],
  tokenFile = '/nonexistent',
  headers: Readonly<Record<string, string>> = {},
) => {
  const clock = fakeClock()
  const requests: { url: string; headers: Readonly<Record<string, string>>; body: string }[] = []
  const send: SendHttpRequest = async (url, request) => {
    requests.push({ url, headers: request.headers, body: request.body ?? '' })
    const answer = answers[Math.min(requests.length, answers.length) - 1]
    if (answer instanceof Error) throw answer
    return { status: answer ?? 202, headers, body: '' }
  }
  const publish = createSink({ sink: 'http://broker/', clock, tokenFile, send })
  return { requests, publish: () => publish(EVENT, clock.now() + 5_000) }
}

describe('a sink that does not accept', () => {
  test.each([
    [
      'by its status',
      500,
      /The sink http:\/\/broker\/ did not accept dev\.meshstep\.resync\.v1 for shop\/web: it answered 500/,
    ],
    ['by an answer that is none of HTTP', 0, /it answered 0/],
    ['by a redirect that leads nowhere', 304, /it answered 304: $/],
    ['by not answering', new Error('ECONNREFUSED'), /it did not answer: ECONNREFUSED/],
  ])('%s, is tried until the deadline', async (_, answer, message) => {
    const { publish, requests } = publisher([answer])
    await expect(publish()).rejects.toMatchObject({ name: 'Unavailable', message: expect.stringMatching(message) })
    expect(requests.length).toBeGreaterThan(3)
  })

  test('a sink that does not accept as it redirects is told by where it leads, and nothing is sent there', async () => {
    const { publish, requests } = publisher([302], '/nonexistent', { location: 'https://broker/' })
    await expect(publish()).rejects.toMatchObject({
      name: 'Unavailable',
      message: expect.stringMatching(/did not accept .*: it answered 302 \(to https:\/\/broker\/\)/),
    })
    expect(new Set(requests.map(({ url }) => url))).toEqual(new Set(['http://broker/']))
  })
})

test.each([[400], [401], [403]])('a sink that refuses with %i is not asked again', async (status) => {
  const { publish, requests } = publisher([status])
  await expect(publish()).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringMatching(/refused.*it answered/),
  })
  expect(requests).toHaveLength(1)
})

test('an event is sent in binary mode until it is accepted, and then no more', async () => {
  const { publish, requests } = publisher([503, 202])
  await publish()
  expect(requests).toHaveLength(2)
  expect(requests[1]).toMatchObject({
    url: 'http://broker/',
    headers: { 'ce-type': 'dev.meshstep.resync.v1', 'ce-subject': 'shop/web' },
    body: '{"a":1}',
  })
  expect(requests[1]?.headers).not.toHaveProperty('authorization')
})

test('the token that Knative mounts is read for each attempt, as it rotates', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'meshstep-')), 'token')
  writeFileSync(file, 'one\n')
  const { publish, requests } = publisher([202], file)
  await publish()
  writeFileSync(file, 'two\n')
  await publish()
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two'])
})
