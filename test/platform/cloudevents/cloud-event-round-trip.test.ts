import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Event, readEvent, writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { runs } from '../../helpers/runs.ts'
import { bytes } from './requests.ts'

const reread = (given: Event): Event => {
  const { headers, body } = writeEvent(given)
  return readEvent({ headers, body: bytes(body) })
}

const DEFINED = 'specversion id source type subject time datacontenttype dataschema data'.split(' ')

describe('round trip', () => {
  const text = fc
    .string({ unit: 'binary', minLength: 1 })
    .filter((given) => !/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(given))
  const oddName = fc.constantFrom('validate', 'constructor', 'emit', 'schemaurl', 'tostring', 'sequence', 'x')
  const freeName = fc.stringMatching(/^[a-z0-9]{1,24}$/).filter((name) => !DEFINED.includes(name))
  const extensions = fc.dictionary(fc.oneof(oddName, freeName), fc.oneof(text, fc.constant(''), fc.constant('"a"')))
  const payload = fc.oneof(
    fc.record({
      datacontenttype: fc.constantFrom('application/json', 'a/B+json; charset=utf-8'),
      data: fc.jsonValue().map(clean),
    }),
    fc.record({ datacontenttype: fc.constant('text/plain'), data: fc.string({ unit: 'grapheme', minLength: 1 }) }),
    fc.record({
      datacontenttype: fc.constant('image/png'),
      data: fc.string({ unit: 'grapheme', minLength: 1 }).map(bytes),
    }),
    fc.record({}),
  )
  const core = fc.record(
    {
      id: text,
      source: fc.webUrl({ withFragments: true, withQueryParameters: true }),
      type: text,
      subject: text,
      dataschema: fc.webUrl(),
      time: fc.constantFrom('2026-11-20T20:38:00.646754467Z', '2016-12-31T23:59:60+00:00', '0001-01-01t00:00:00z'),
    },
    { requiredKeys: ['id', 'source', 'type'] },
  )

  // What JSON can say: no -0.
  function clean(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value))
  }

  test('a reader reads what the writer wrote, headers being printable ASCII', () => {
    fc.assert(
      fc.property(core, extensions, payload, (attributes, others, data) => {
        const given: Event = { ...attributes, ...data, extensions: others }
        expect(reread(given)).toEqual({ ...given, extensions: { ...others } })
        for (const value of Object.values(writeEvent(given).headers)) expect(value).toMatch(/^[ -~]*$/)
      }),
      { numRuns: runs(500) },
    )
  })
})
