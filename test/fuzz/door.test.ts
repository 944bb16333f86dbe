import fc from 'fast-check'
import { test } from 'vitest'
import { EVENTS } from './corpus.ts'
import { jsonOf, mutated, text, value } from './hostile.ts'
import { EVENT, expectAnswer, FAIR, fuzz, post, untouched } from './world.ts'

/** As a header may be: bytes, and no line of its own. */
const headerValue = text.map((one) =>
  [...one.slice(0, 8_000)]
    .map((character) => (/[\x20-\x7e\x80-\xff]/.test(character) ? character : '?'))
    .join('')
    .trim(),
)

const headerName = fc.oneof(
  fc.constantFrom(
    ...['id', 'source', 'type', 'specversion', 'subject', 'time', 'datacontenttype', 'dataschema', 'sequence'].map(
      (name) => `ce-${name}`,
    ),
    ...['ce-__proto__', 'ce-constructor', 'ce-data', 'ce-epoch', 'content-type', 'content-encoding', 'traceparent'],
  ),
  fc.stringMatching(/^ce-[a-z0-9]{1,25}$/),
)

const mediaType = fc.constantFrom(
  ...['application/json', 'application/cloudevents+json', 'application/cloudevents-batch+json', 'text/plain', 'a/b'],
  ...['application/json; charset=utf-16', 'application/cloudevents+json; charset=UTF-8', 'application/x+json', ''],
)

const goodHeaders = fc.constantFrom(...EVENTS).map(({ name }) => ({ ...EVENT, 'ce-type': `dev.meshstep.${name}.v1` }))

const headers = fc
  .tuple(goodHeaders, fc.dictionary(headerName, fc.oneof(headerValue, mediaType), { maxKeys: 3 }))
  .map(([good, odd]) => ({ ...good, ...odd }))

const structured = mutated(
  EVENTS.map(({ name, data }) => ({
    ...{ specversion: '1.0', id: '1', source: '/fuzz', type: `dev.meshstep.${name}.v1`, subject: 'shop/web' },
    data,
  })),
)

const body = fc.oneof(
  jsonOf(mutated(EVENTS.map(({ data }) => data))),
  jsonOf(value),
  text,
  fc.uint8Array({ maxLength: 100 }),
)

const fresh = untouched()

test('whatever headers a request has, it is taken or refused', async () => {
  const bodies = fc.constantFrom('', '{}', 'null', '[]', '"a"')
  await fuzz('headers', 15_000, fc.tuple(headers, bodies), async ([odd, sent]) => {
    const world = fresh()
    await expectAnswer(await post(world, odd, sent), FAIR, world.lines)
  })
})

test('whatever the body of a request is, it is taken or refused', async () => {
  const inStructuredMode = fc.tuple(
    fc.constant({ 'content-type': 'application/cloudevents+json' }),
    fc.oneof(jsonOf(structured), text),
  )
  await fuzz('bodies', 6_000, fc.oneof(fc.tuple(goodHeaders, body), inStructuredMode), async ([good, sent]) => {
    const world = fresh()
    await expectAnswer(await post(world, good, sent), FAIR, world.lines)
  })
})
