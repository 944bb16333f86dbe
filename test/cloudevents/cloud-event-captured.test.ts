import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type EventRequest, readEvent, writeEvent } from '../../src/cloudevents/cloud-event.ts'
import { sharedFile } from '../helpers/shared.ts'
import { bytes } from './requests.ts'

const folder = sharedFile('fixtures/apiserversource')
const reason = folder ? '' : ' (skipped: no recorded requests beside the repository)'

/** A request as it was on the wire; header values as Node decodes them. */
const parse = (raw: Buffer): EventRequest => {
  const end = raw.indexOf('\r\n\r\n')
  const [, ...lines] = raw.subarray(0, end).toString('latin1').split('\r\n')
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return { headers: Object.fromEntries(headers), body: raw.subarray(end + 4) }
}

const recorded = (ending: string): string[] =>
  (folder ? readdirSync(folder) : []).filter((name) => name.endsWith(ending))

const source = /^https:\/\//
const subject = /^\/apis?\/(?:[\w.]+\/)?v1\/namespaces\/[\w-]+\/\w+\/[\w-]+$/
const nanoseconds = /^2026-11-20T\d\d:\d\d:\d\d\.\d{8,9}Z$/
const extensions = {
  apiversion: expect.any(String),
  kind: expect.any(String),
  name: expect.any(String),
  namespace: expect.any(String),
}

describe.skipIf(!folder)(`requests of an ApiServerSource${reason}`, () => {
  test('there are some', () => expect(recorded('.http').length).toBeGreaterThan(0))

  for (const name of recorded('.http')) {
    test(name, () => {
      const request = parse(readFileSync(`${folder}/${name}`))
      const event = readEvent(request)
      expect(event).toEqual({
        id: request.headers['ce-id'],
        type: request.headers['ce-type'],
        source: expect.stringMatching(source),
        subject: expect.stringMatching(subject),
        time: expect.stringMatching(nanoseconds),
        datacontenttype: 'application/json',
        data: JSON.parse(Buffer.from(request.body).toString('utf8')),
        extensions,
      })
      const { headers, body } = writeEvent(event)
      expect(headers).toEqual(
        Object.fromEntries(Object.entries(request.headers).filter(([key]) => /^(?:ce-|content-type)/.test(key))),
      )
      expect(readEvent({ headers, body: bytes(body) })).toEqual(event)
    })
  }

  for (const name of recorded('.jsonl')) {
    test(`${name}: every line`, () => {
      const lines = readFileSync(`${folder}/${name}`, 'utf8').trim().split('\n')
      expect(lines.length).toBeGreaterThan(1)
      for (const line of lines) {
        const { headers, data } = JSON.parse(line)
        const event = readEvent({ headers, body: bytes(JSON.stringify(data)) })
        expect(event).toMatchObject({ subject: expect.stringMatching(subject), data, extensions })
        expect(event.extensions.name).toBe(data.metadata.name)
      }
    })
  }
})
