import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Event, structuredEvent, writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { deadLetterKubernetesEvent } from '../../../src/serve/http/dead-letter-kubernetes-event.ts'
import { lettersInEvents, lettersInFile, resend } from '../../../src/serve/http/dead-letter-records.ts'
import { createDeadLetterSink } from '../../../src/serve/http/dead-letter-sink.ts'
import { createWorld, event, MESH_LABELS, meshRelation } from '../../helpers/world.ts'

/** What an in-memory broker of Knative Eventing adds to an event, and then to a dead letter. */
const delivery = {
  knativebrokerttl: '255',
  knativearrivaltime: '2026-11-22T09:36:13.223814738Z',
  knativeerrorcode: '400',
  knativeerrordata: 'eyJzdGF0dXMiOjQwMH0=',
  knativeerrordest: 'http://meshstep.shop.svc.cluster.local',
}

const failed = (letter: Event): Event => ({ ...letter, extensions: { ...letter.extensions, ...delivery } })

const told = (letter: Event, now = new Date(0)) => {
  const object = deadLetterKubernetesEvent(failed(letter), 'why', now)
  if (!object) throw new Error('expected an Event')
  return object
}

/** Without a prototype, or with one. */
const plain = (letters: readonly Event[]): unknown => JSON.parse(JSON.stringify(letters))

const letters: [string, Event][] = [
  ['JSON', event('relation-changed', meshRelation(), { extensions: { sequence: '7' } })],
  ['no data', event('resync', {}, { subject: 'shop/web', data: undefined })],
  ['text', event('resync', {}, { subject: 'shop/web', datacontenttype: 'text/plain', data: 'é\n' })],
]

describe('a dead letter comes back as it was sent', () => {
  test.each(letters)('a dead letter comes back as it was sent from its Kubernetes Event, with %s', (_, letter) => {
    expect(plain(lettersInEvents([told(letter)]).letters)).toEqual(plain([letter]))
  })

  test.each(letters)('a dead letter comes back as it was sent from the log of the sink, with %s', async (_, letter) => {
    const lines: string[] = []
    const write = (fields: Record<string, unknown>, msg: string) => void lines.push(JSON.stringify({ ...fields, msg }))
    const app = createDeadLetterSink({ log: { info: write, warn: write, error: write } })
    const { headers, body } = writeEvent(failed(letter))
    await app.request('/', { method: 'POST', headers, body })
    write({}, 'listening for dead letters')
    expect(plain(lettersInFile(lines.join('\n')).letters)).toEqual(plain([letter]))
  })

  test('a dead letter comes back as it was sent from a file of events, with bytes', () => {
    const letter = event('resync', {}, { subject: 'shop/web', datacontenttype: 'a/b', data: new Uint8Array([0, 255]) })
    const { letters: read, unreadable } = lettersInFile(`${JSON.stringify(structuredEvent(letter))}\n\nnonsense\n{}\n`)
    expect([read[0]?.data, unreadable]).toEqual([new Uint8Array([0, 255]), 2])
  })
})

test('dead letters are in the order in which they came, and other Events are none', () => {
  const [one, other] = [event('resync', {}), event('leader-elected', { unit: 'web/0' })]
  const objects = [told(other, new Date(2)), { ...told(one), reason: 'Scheduled' }, told(one, new Date(1))]
  expect(lettersInEvents(objects).letters.map(({ id }) => id)).toEqual([one.id, other.id])
})

test('one that is too large for an annotation is not kept, and counted', () => {
  const object = told(event('config-changed', { config: { labels: { a: 'x'.repeat(200_000) } } }))
  expect(object.metadata).not.toHaveProperty('annotations')
  expect(lettersInEvents([object])).toEqual({ letters: [], unreadable: 1 })
})

test('what is sent again is done, in order, and one that fails again stops no other', async () => {
  const world = createWorld()
  const [bad, good] = [event('config-changed', { config: { nonsense: 1 } }), event('relation-changed', meshRelation())]
  const { letters: read } = lettersInEvents([told(bad, new Date(1)), told(good, new Date(2))])
  const { sent, failed: left } = await resend(read, async (letter) => {
    const { status } = await world.post(letter)
    if (status !== 200) throw new Error(`answered ${status}`)
  })
  expect(sent.map(({ id }) => id)).toEqual([good.id])
  expect(left).toMatchObject([{ letter: { id: bad.id }, reason: 'answered 400' }])
  expect(world.labels().template).toMatchObject(MESH_LABELS)
})

describe('npm run resend', () => {
  const run = (...options: string[]) =>
    promisify(execFile)(process.execPath, ['src/resend-command.ts', ...options]).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    )

  test('npm run resend sends what a log holds to the sink, and says so', async () => {
    const ids: unknown[] = []
    const server = createServer((request, response) => {
      ids.push(request.headers['ce-id'])
      response.writeHead(202).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    const folder = await mkdtemp(join(tmpdir(), 'meshstep-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const letter = event('resync', {})
    await writeFile(join(folder, 'log'), JSON.stringify({ msg: 'dead letter', event: structuredEvent(letter) }))
    const sink = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await run('--file', join(folder, 'log'), '--sink', sink)).toMatchObject({
      code: 0,
      stdout: `sent dev.meshstep.resync.v1 ${letter.id} of /test\n`,
    })
    expect(ids).toEqual([letter.id])
  })

  test('npm run resend fails where there is nothing to send', async () => {
    const nothing = await run('--file', '/dev/null', '--sink', 'http://127.0.0.1:9')
    expect(nothing).toEqual({ code: 1, stdout: '', stderr: 'There are no dead letters to send again\n' })
  })

  test('npm run resend says how it is called when it is told no sink', async () => {
    expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('--sink URL') })
  })
})
