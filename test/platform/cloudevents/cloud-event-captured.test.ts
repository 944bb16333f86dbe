import { describe, expect, test } from 'vitest'
import { readEvent, writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { knativeRequests } from '../../helpers/recorded.ts'
import { bytes } from './requests.ts'

const { requests, rollingUpdate } = knativeRequests()

/** Header names as Node has them. */
const lower = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const source = /^https:\/\//
const subject = /^\/apis?\/(?:[\w.]+\/)?v1\/namespaces\/[\w-]+\/\w+\/[\w-]+$/
const nanoseconds = /^2026-11-20T\d\d:\d\d:\d\d\.\d{8,9}Z$/
const extensions = {
  apiversion: expect.any(String),
  kind: expect.any(String),
  name: expect.any(String),
  namespace: expect.any(String),
}

describe('requests of an ApiServerSource', () => {
  test.each(Object.entries(requests))('%s is read as it was sent', (_, { headers: sent, body: text }) => {
    const given = lower(sent)
    const event = readEvent({ headers: given, body: bytes(text) })
    expect(event).toEqual({
      id: given['ce-id'],
      type: given['ce-type'],
      source: expect.stringMatching(source),
      subject: expect.stringMatching(subject),
      time: expect.stringMatching(nanoseconds),
      datacontenttype: 'application/json',
      data: JSON.parse(text),
      extensions,
    })
    const { headers, body } = writeEvent(event)
    expect(headers).toEqual(
      Object.fromEntries(Object.entries(given).filter(([key]) => /^(?:ce-|content-type)/.test(key))),
    )
    expect(readEvent({ headers, body: bytes(body) })).toEqual(event)
  })

  test('those of a rolling update are all read as they were sent', () => {
    expect(rollingUpdate.length).toBeGreaterThan(1)
    for (const { headers, data } of rollingUpdate) {
      const event = readEvent({ headers, body: bytes(JSON.stringify(data)) })
      expect(event).toMatchObject({ subject: expect.stringMatching(subject), data, extensions })
      expect(event.extensions.name).toBe(data.metadata.name)
    }
  })
})
