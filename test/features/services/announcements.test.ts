import { describe, expect, test } from 'vitest'
import { Announced, markAccepted } from '../../../src/features/services/announced.ts'
import { folded, nothing, settled, told, toSend } from './application.ts'
import { FLAT } from './relations.ts'

const OTHER = { ...FLAT, 'service-port': '5433' }
const DB = 'db.shop.svc.cluster.local:5432'
const MOVED = 'db.shop.svc.cluster.local:5433'

const service = { relation: 7, endpoint: 'db', application: 'postgres', host: 'db.shop.svc.cluster.local', port: 5432 }

test('an event says all of it', () => {
  const event = {
    source: '/meshstep/shop/web',
    subject: 'shop/web',
    datacontenttype: 'application/json',
  }
  const extensions = (sequence: string) => ({ partitionkey: 'shop/web', sequence })
  const about = { namespace: 'shop', application: 'web' }

  const available = folded(nothing, { 7: FLAT }, 1000)
  expect(toSend(available).map((one) => one.event)).toEqual([
    {
      ...event,
      id: 'shop/web/7/1000',
      type: 'dev.meshstep.service-available.v1',
      extensions: extensions('1000'),
      data: { ...about, service },
    },
  ])
  const changed = folded(settled(available), { 7: OTHER }, 1000)
  expect(toSend(changed).map((one) => one.event)).toEqual([
    {
      ...event,
      id: 'shop/web/7/1001',
      type: 'dev.meshstep.service-changed.v1',
      extensions: extensions('1001'),
      data: { ...about, service: { ...service, port: 5433 }, previous: service },
    },
  ])
  const gone = folded(settled(changed), { 7: undefined }, 2000)
  expect(toSend(gone).map((one) => one.event)).toEqual([
    {
      ...event,
      id: 'shop/web/7/2000',
      type: 'dev.meshstep.service-unavailable.v1',
      extensions: extensions('2000'),
      data: { ...about, previous: { ...service, port: 5433 } },
    },
  ])
  expect(settled(gone).announced).toEqual({ last: 2000, relations: {} })
})

describe('while it is not known what the sink has', () => {
  const unsure = folded(nothing, { 7: FLAT })

  test('the same is announced again under the same id', () => {
    expect(toSend(folded(unsure))).toEqual(toSend(unsure))
  })

  test('what changed since is announced after it, and its previous is what was announced before', () => {
    const changed = folded(unsure, { 7: OTHER })
    expect(told(changed)).toEqual([`service-available 7 ${DB}`, `service-changed 7 ${MOVED}`])
    expect(toSend(changed)[1]?.event.data).toHaveProperty('previous', service)
  })

  test('what went is announced as gone after it was announced as available', () => {
    const gone = folded(unsure, { 7: undefined })
    const both = [`service-available 7 ${DB}`, 'service-unavailable 7']
    expect(told(gone)).toEqual(both)
    expect(told(folded(gone, { 7: FLAT }))).toEqual([...both, `service-available 7 ${DB}`])
    expect(settled(gone).announced.relations).toEqual({})
  })

  test('a change that was changed back is announced as two', () => {
    const changed = folded(settled(unsure), { 7: OTHER })
    expect(told(folded(changed, { 7: FLAT }))).toEqual([`service-changed 7 ${MOVED}`, `service-changed 7 ${DB}`])
  })

  test('one that is accepted alone is not sent again, and the others are', () => {
    const gone = folded(folded(unsure, { 7: OTHER }), { 7: undefined })
    const [first, second, third] = toSend(gone).map(({ number }) => number)
    const left = (numbers: readonly (number | undefined)[]) => {
      const accepted = numbers.filter((number) => number !== undefined)
      return told({ ...gone, announced: markAccepted(gone.announced, accepted) })
    }
    expect(left([first])).toEqual([`service-changed 7 ${MOVED}`, 'service-unavailable 7'])
    expect(left([second])).toEqual([`service-available 7 ${DB}`, 'service-unavailable 7'])
    expect(left([third])).toEqual([`service-available 7 ${DB}`, `service-changed 7 ${MOVED}`])
  })

  test('of one that comes and goes while the sink is away the last twenty are announced, and each that goes has come', () => {
    const turns = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? { 7: FLAT } : { 7: undefined }))
    const memory = turns.reduce((before, change) => folded(before, change), nothing)
    const coming = [`service-available 7 ${DB}`, 'service-unavailable 7']
    expect(told(memory)).toEqual(Array.from({ length: 10 }, () => coming).flat())
  })

  test('a change is never announced under the id of another, though it say the same', () => {
    const there = folded(unsure, { 7: OTHER })
    const andBack = folded(there, { 7: FLAT })
    const ids = [unsure, there, andBack].flatMap((memory) => toSend(memory).map(({ event }) => event.id))
    expect(new Set(ids).size).toBe(3)
  })

  test('they are sent in the order in which they were planned', () => {
    const memory = folded(folded(nothing, { 8: FLAT }), { 7: FLAT })
    expect(told(memory)).toEqual([`service-available 8 ${DB}`, `service-available 7 ${DB}`])
  })

  test('what is accepted late says nothing of what was planned since', () => {
    const late = toSend(unsure).map(({ number }) => number)
    const changed = folded(unsure, { 7: OTHER })
    expect(told({ ...changed, announced: markAccepted(changed.announced, late) })).toEqual([
      `service-changed 7 ${MOVED}`,
    ])
  })
})

test('numbers rise with the clock, and without it', () => {
  const numbers = (memory: typeof nothing) => toSend(memory).map(({ number }) => number)
  const both = folded(nothing, { 8: FLAT, 7: FLAT }, 1000)
  expect(numbers(both)).toEqual([1000, 1001])
  expect(numbers(folded(settled(both), { 9: FLAT }, 5))).toEqual([1002])
  expect(numbers(folded(nothing, { 9: FLAT }, 9000))).toEqual([9000])
})

test('what is remembered can be kept as JSON', () => {
  const gone = folded(settled(folded(nothing, { 7: FLAT, 8: FLAT })), { 7: undefined, 8: OTHER })
  expect(Announced.parse(JSON.parse(JSON.stringify(gone.announced)))).toEqual(gone.announced)
})
