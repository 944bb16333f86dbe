import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { defineFunction, type Received } from '../../../src/core/events/event-function.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { event, SUBJECT } from '../../helpers/world.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')

const told = defineFunction({
  name: 'told',
  data: { number: z.number().optional(), config: z.looseObject({ env: z.unknown() }).optional() },
  fold: (state, _, { namespace, application }) => ({ state, stale: `${namespace}/${application}` }),
})

const seen = defineFunction({
  name: 'seen',
  data: {},
  observation: true,
  isForNamespaces: true,
  fold: (state) => ({ state }),
})

const nudge = defineFunction({
  name: 'nudge',
  data: { id: z.number().optional() },
  isNudge: true,
  look: ({ id }) => ({ ...(id !== undefined && { relation: id }), isTold: true }),
  fold: (state) => ({ state, stale: 'by itself' }),
})

const sent = (data: unknown, changes: Partial<Event> = {}): Event => ({
  ...event('told', {}),
  ...changes,
  data,
})

const problem = (one: { receive(sent: Event, now: Date): Received }, received: Event): string => {
  try {
    return `none: ${JSON.stringify(one.receive(received, NOW).application)}`
  } catch (error) {
    return (error as Error).message
  }
}

describe('the data of an event', () => {
  test.each<[string, unknown, string]>(
    [
      ['bytes', new Uint8Array([1]), 'data: expected a JSON object, got bytes: is the content type missing?'],
      ['a text', 'secret', 'data: expected a JSON object, got text'],
      ['a list', ['secret'], 'data: expected a JSON object, got a list'],
      ['a number', 7, 'data: expected a JSON object, got 7'],
      ['nothing', undefined, 'data.namespace: Invalid input: expected string, received undefined'],
      ['null', null, 'data.namespace: Invalid input: expected string, received undefined'],
      ['an unknown field', { ...SUBJECT, other: { a: 'secret' } }, /^data: Unrecognized key: "other"$/],
      ['a misspelt field', { ...SUBJECT, numbre: 1 }, /^data: Unrecognized key: "numbre", did you mean number\?$/],
      ['of a document', { ...SUBJECT, document: 'web', other: 1 }, /^ConfigMap shop\/web: data: /],
      [
        'a wrong field',
        { ...SUBJECT, number: 'a' },
        'number: Invalid input: expected number, received string, got "a"',
      ],
      ['no namespace', { application: 'web' }, 'data.namespace: Invalid input'],
      ['no application', { namespace: 'shop' }, 'data.application: Invalid input'],
      ['a part of a config', { ...SUBJECT, config: 'secret' }, /received string$/],
      ['a long text', { ...SUBJECT, number: 'a'.repeat(129) }, `got "${'a'.repeat(129)}…`],
    ].map(([name, data, message]) => [name as string, data, message as string]),
  )('the data of an event are refused where they are %s', (_, data, message) => {
    const found = problem(told, sent(data))
    if (typeof message === 'string') expect(found).toContain(message)
    else expect(found).toMatch(message)
  })

  test('the data of an event are shown whole up to 130 characters', () => {
    expect(problem(told, sent({ ...SUBJECT, number: 'a'.repeat(128) }))).toMatch(/got "a{128}"$/)
  })

  test('the data of an event are refused below 64 levels', () => {
    const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) })
    expect(problem(told, sent({ ...SUBJECT, config: { env: deep(61) } }))).toBe('none: "web"')
    expect(problem(told, sent({ ...SUBJECT, config: { env: deep(62) } }))).toBe('data: expected at most 64 levels')
  })

  test('the data of an event are refused with the first five problems', () => {
    const Many = Object.fromEntries([1, 2, 3, 4, 5, 6].map((number) => [`f${number}`, z.number()]))
    const many = defineFunction({ name: 'many', data: Many, fold: (state) => ({ state }) })
    expect(problem(many, sent({ ...SUBJECT })).match(/data\.f\d/g)).toEqual([
      'data.f1',
      'data.f2',
      'data.f3',
      'data.f4',
      'data.f5',
    ])
  })

  test.each([
    ['config', true],
    ['config.workload', true],
    ['config.workload.podSpec', true],
    ['config.env.a', true],
    ['config.secrets.a', true],
    ['config.size', false],
    ['config.workload.size', false],
    ['other.env', false],
  ])('the value of %s is left out of a refusal: %s', (path, isLeftOut) => {
    const schema = path
      .split('.')
      .toReversed()
      .reduce<z.ZodType>((inner, key) => z.object({ [key]: inner }), z.number())
    const data = path
      .split('.')
      .toReversed()
      .reduce<unknown>((inner, key) => ({ [key]: inner }), 'value')
    const one = defineFunction({
      name: 'one',
      data: (schema as z.ZodObject).shape,
      fold: (state) => ({ state }),
    })
    const found = problem(one, sent({ ...SUBJECT, ...(data as object) }))
    expect([found.includes(`data.${path}: Invalid input`), found.includes('got "value"')]).toEqual([true, !isLeftOut])
  })

  test('an object in a config is left out of a refusal', () => {
    const one = defineFunction({
      name: 'one',
      data: { config: z.object({ size: z.number() }), size: z.number().optional() },
      fold: (state) => ({ state }),
    })
    expect(problem(one, sent({ ...SUBJECT, config: { size: { a: 'b' } } }))).toMatch(/received object$/)
    expect(problem(one, sent({ ...SUBJECT, config: { size: 1 }, size: { a: 'b' } }))).toContain('got {"a":"b"}')
  })
})

describe('the subject of an event', () => {
  test.each<[string, unknown, string, string]>([
    ['names the application', {}, 'shop/web', 'none: "web"'],
    ['agrees with the data', SUBJECT, 'shop/web', 'none: "web"'],
    ['has one part', {}, 'shop', 'subject: expected {namespace}/{application}, got "shop"'],
    ['has three parts', {}, 'shop/web/0', 'subject: expected {namespace}/{application}, got "shop/web/0"'],
    ['names another application', SUBJECT, 'shop/db', 'subject: "shop/db" does not agree with the data, shop/web'],
    ['names another namespace', SUBJECT, 'data/web', 'subject: "data/web" does not agree with the data, shop/web'],
    [
      'meets data of another type',
      { namespace: 7, application: { a: 1 } },
      'shop/web',
      'subject: "shop/web" does not agree with the data, 7/{"a":1}',
    ],
  ])('the subject of an event %s', (_, data, subject, message) => {
    expect(problem(told, sent(data, { subject }))).toBe(message)
  })

  test('the subject of an event about a whole namespace may be the namespace alone', () => {
    expect(seen.receive(sent({}, { subject: 'shop' }), NOW)).toMatchObject({ namespace: 'shop' })
    expect(problem(seen, sent({}, { subject: 'shop' }))).toBe('none: undefined')
    expect(problem(seen, sent({ namespace: 'shop' }))).toBe('none: undefined')
    expect(problem(seen, sent({ ...SUBJECT }))).toBe('none: "web"')
    expect(problem(seen, sent({}, { subject: 'shop/web/0' }))).toContain('subject: expected')
    expect(problem(seen, sent({ namespace: 'shop', application: 'A B' }))).toContain('data.application')
  })
})

describe('the change of an event', () => {
  const fold = ({ change }: Received) =>
    change.fold(
      emptyState(),
      () => [],
      (config) => config,
    ).stale

  test('the change of an event is folded for its application, and is no observation unless the function says so', () => {
    const received = told.receive(sent({ ...SUBJECT }), NOW)
    expect(received).toMatchObject({ ...SUBJECT, change: { observation: false, look: {}, event: expect.any(String) } })
    expect(fold(received)).toBe('shop/web')
    expect(seen.receive(sent({ ...SUBJECT }), NOW).change.observation).toBe(true)
  })

  test('the change of an event that another application sends is a look at that application', () => {
    const source = '/meshstep/shop/db'
    const received = nudge.receive(sent({ ...SUBJECT, id: 7 }, { source }), NOW)
    expect(received.change).toMatchObject({
      ...{ observation: true, isNudge: true },
      look: { remotes: [{ namespace: 'shop', application: 'db' }], relation: 7 },
    })
    expect(fold(received)).toBeUndefined()
    const other = nudge.receive(sent({ ...SUBJECT }, { source }), NOW)
    expect(other.change.look).not.toHaveProperty('relation')
  })

  test('the change of an event that a platform sends is its own, and that of an application only where it asks for a look', () => {
    expect(fold(nudge.receive(sent({ ...SUBJECT }), NOW))).toBe('by itself')
    expect(fold(told.receive(sent({ ...SUBJECT }, { source: '/meshstep/shop/db' }), NOW))).toBe('shop/web')
  })
})

test('the schema of a function has the fields of its data, and whom it is about', () => {
  const { schema, type } = told
  expect(type).toBe('dev.meshstep.told.v1')
  expect(schema.safeParse({ number: 1 }).success).toBe(true)
  expect(schema.safeParse({ ...SUBJECT, number: 1 }).success).toBe(true)
  expect(schema.safeParse({ other: 1 }).success).toBe(false)
})
