import { describe, expect, test } from 'vitest'
import { nothingAnnounced } from '../../../src/features/services/announced.ts'
import { folded, type Memory, nothing, settled, told, toSend } from './application.ts'
import { serviceDatabags } from './databags.ts'
import { FLAT, forms, offeredBy, relation } from './relations.ts'

const DB = 'db.shop.svc.cluster.local:5432'

describe('an event that nobody heard', () => {
  test('an event that nobody heard is sent again, as the same one, until the sink has it', () => {
    const before = folded(nothing, { 7: FLAT })
    expect(told(before)).toEqual([`service-available 7 ${DB}`])
    const afterCrash: Memory = JSON.parse(JSON.stringify(before))
    expect(toSend(folded(afterCrash))).toEqual(toSend(before))
    expect(told(folded(settled(afterCrash)))).toEqual([])
  })
})

describe('a service that goes is announced', () => {
  const used = settled(folded(nothing, { 7: FLAT }))

  test.each([
    ['the relation is broken', undefined],
    ['its databag is emptied', {}],
    ['one of the two keys goes', { 'service-name': 'db.shop' }],
    ['the values are emptied', { 'service-name': '', 'service-port': '' }],
    ['the document is emptied', { _supported_versions: ['v1'], data: {} }],
    ['the roles are exchanged', relation(7, FLAT, { role: 'provides' })],
  ])('%s', (_, data) => {
    const gone = folded(used, { 7: data })
    expect(told(gone)).toEqual(['service-unavailable 7'])
    expect(told(folded(settled(gone)))).toEqual([])
  })

  test.each([
    ['a value that cannot be read', { ...FLAT, 'service-port': 'http' }],
    ['versions that cannot be read', { ...FLAT, _supported_versions: 'v1' }],
    ['no version in common', { _supported_versions: ['v2'] }],
  ])('%s is not gone', (_, data) => {
    const unsure = folded(used, { 7: data })
    expect(told(unsure)).toEqual([])
    expect(told(folded(settled(unsure), { 7: FLAT }))).toEqual([])
    expect(told(folded(settled(unsure), { 7: undefined }))).toEqual(['service-unavailable 7'])
  })
})

describe('the same service, removed and added again', () => {
  test('the same service, removed and added again is announced again, under an id of its own', () => {
    const first = folded(nothing, { 7: FLAT })
    const gone = folded(settled(first), { 7: undefined })
    const again = folded(settled(gone), { 7: FLAT })
    expect(told(again)).toEqual(told(first))
    expect(toSend(again)[0]?.event.id).not.toBe(toSend(first)[0]?.event.id)
  })
})

describe('data may come with the relation, or later, with other events in between', () => {
  test.each([
    ['with the relation', [{ 7: FLAT }]],
    ['later', [{ 7: {} }, {}, { 7: FLAT }]],
    ['key by key', [{ 7: {} }, { 7: { 'service-name': 'db.shop' } }, {}, { 7: FLAT }, {}]],
    [
      'after the versions',
      [{ 7: { _supported_versions: '["v1"]' } }, {}, { 7: { ...FLAT, _supported_versions: ['v1'] } }],
    ],
  ])('%s: announced once, when it is complete', (_, events) => {
    let memory = nothing
    const announced = events.flatMap((event) => {
      memory = folded(memory, event)
      const now = told(memory)
      memory = settled(memory)
      return now
    })
    expect(announced).toEqual([`service-available 7 ${DB}`])
  })
})

describe('nothing is cached', () => {
  test('what is offered is what the relations say, whatever was announced', () => {
    const { relations } = folded(nothing, { 7: FLAT })
    const announced = folded(nothing, { 7: { ...FLAT, 'service-port': '1' }, 8: FLAT }).announced
    expect(offeredBy(relations, announced)).toEqual(offeredBy(relations, nothingAnnounced()))
  })

  test('units say nothing', () => {
    const units = { 'postgres/0': { 'service-name': 'other', 'service-port': '1' } }
    const remote = { application: 'postgres', data: FLAT, units }
    expect(offeredBy([relation(7, {}, { remote })])).toEqual(offeredBy([relation(7, FLAT)]))
  })
})

describe('a provider publishes for the application', () => {
  test('the same, whichever units there are: no unit could publish something else', () => {
    const services = { db: { name: 'db', port: 5432 } }
    const publishedBeside = (units: Record<string, Record<string, unknown>>) => {
      const remote = { application: 'web', data: {}, units }
      return serviceDatabags({
        namespace: 'shop',
        services,
        relations: [relation(7, {}, { role: 'provides', remote })],
      })
    }
    expect(publishedBeside({ 'web/1': {} })).toEqual(publishedBeside({}))
    expect(publishedBeside({})).toMatchObject([{ relation: 7, data: { 'service-port': '5432' } }])
  })
})

describe('several providers', () => {
  const three = { 10: { ...FLAT, 'service-name': 'ten' }, 9: { ...FLAT, 'service-name': 'nine' }, 2: FLAT }

  test('several providers are in the order of their relations’ ids, whichever came first', () => {
    const memory = folded(folded(folded(nothing, { 10: three[10] }), { 2: three[2] }), { 9: three[9] })
    for (const { relations } of [memory, { relations: memory.relations.toReversed() }])
      expect(offeredBy(relations).services.map(({ relation: id, host }) => [id, host])).toEqual([
        [2, 'db.shop.svc.cluster.local'],
        [9, 'nine.shop.svc.cluster.local'],
        [10, 'ten.shop.svc.cluster.local'],
      ])
  })

  test('several providers are announced in this order', () => {
    expect(told(folded(nothing, three)).map((line) => line.split(' ')[1])).toEqual(['2', '9', '10'])
    const used = settled(folded(nothing, { 10: three[10] }))
    expect(told(folded(used, { 10: undefined, 2: FLAT }))).toEqual([
      `service-available 2 ${DB}`,
      'service-unavailable 10',
    ])
  })
})

describe('an event that was missed', () => {
  test('an event that was missed is made good by the next one, whatever it is about', () => {
    const used = settled(folded(nothing, { 7: FLAT, 8: FLAT }))
    const missed: Memory = { ...used, relations: used.relations.filter(({ id }) => id !== 7) }
    expect(told(folded(missed, { 9: {} }))).toEqual(['service-unavailable 7'])
  })

  test('what came and went before a missed event is made good is no change', () => {
    const used = settled(folded(nothing, { 7: FLAT }))
    const both = folded({ ...used, relations: [] }, { 7: FLAT })
    expect(told(both)).toEqual([])
  })
})

describe('the same in other words is no change', () => {
  const used = settled(folded(nothing, { 7: FLAT }))

  test.each(forms)('%s', (_, data) => {
    expect(told(folded(used, { 7: data }))).toEqual([])
  })

  test.each([
    [{ 'service-name': 'db.shop', 'service-port': '5433' }, 'db.shop.svc.cluster.local:5433'],
    [{ 'service-name': 'db.data', 'service-port': '5432' }, 'db.data.svc.cluster.local:5432'],
  ])('the same in other words is no change, but %j is one', (data, address) => {
    expect(told(folded(used, { 7: data }))).toEqual([`service-changed 7 ${address}`])
  })
})
