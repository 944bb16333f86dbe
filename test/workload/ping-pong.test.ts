import { describe, expect, test } from 'vitest'
import type { SpecInputs } from '../../src/workload/inputs.ts'
import { loopMessage, loopOf, observeSpec, type SpecHistory } from '../../src/workload/loop.ts'
import type { PodSpec } from '../../src/workload/pod-spec.ts'
import { podSpec } from './samples.ts'

const MINUTE = 60_000

type Relations = SpecInputs['relations']
type Step = { spec: PodSpec; relations: Relations; rest?: unknown; minutes?: number }

const db = (data: unknown): Relations => ({ 7: { application: 'db', data } })

/** The spec takes over an address that db tells, each time a few minutes after the time before. */
const takesOver = (address: string): Step => ({
  spec: podSpec('web:1', `postgres://${address}/`),
  relations: db({ data: { host: address } }),
})

const historyOf = (steps: readonly Step[]): SpecHistory | undefined => {
  let time = Date.parse('2026-01-01T00:00:00Z')
  let history: SpecHistory | undefined
  for (const { spec, relations, rest = {}, minutes = 5 } of steps) {
    time += minutes * MINUTE
    history = observeSpec(history, { spec, inputs: { rest, relations }, known: new Map(), now: new Date(time) })
  }
  return history
}

const running = (history: SpecHistory | undefined) => history?.spec.containers[0]?.env?.[0]?.value

const FOUR = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']

describe('two applications that keep changing each other', () => {
  test('are told, with the other one’s name and the paths, and the third change is not applied', () => {
    expect(loopOf(historyOf(FOUR.slice(0, 3).map(takesOver)))).toBeUndefined()
    const history = historyOf(FOUR.map(takesOver))
    expect(loopOf(history)).toEqual({
      paths: ['containers[web].env[COLOUR].value'],
      because:
        'three times in a row the spec took over what db had just changed: this application and db keep changing each other; ' +
        'containers[web].env[COLOUR].value holds what looks like an IP address',
    })
    expect(running(history)).toBe('postgres://10.0.0.3/')
  })

  test('stay so while the other one goes on', () => {
    const history = historyOf([...FOUR, '10.0.0.5', '10.0.0.6'].map(takesOver))
    expect(running(history)).toBe('postgres://10.0.0.3/')
    expect(loopOf(history)).toBeDefined()
  })

  test('are found where a databag holds strings of JSON, as in Juju, or only units tell the address', () => {
    const inJson = FOUR.map((address) => ({
      ...takesOver(address),
      relations: db({ data: { endpoint: JSON.stringify({ hosts: [address] }) } }),
    }))
    const inUnits = FOUR.map((address) => ({
      ...takesOver(address),
      relations: db({ data: {}, units: { 'db/0': { 'private-address': JSON.stringify(address) } } }),
    }))
    expect(loopOf(historyOf(inJson))?.because).toMatch(/db keep changing/)
    expect(loopOf(historyOf(inUnits))?.because).toMatch(/db keep changing/)
  })

  test('are found where they have two relations', () => {
    const steps = FOUR.map((address, index) => ({
      ...takesOver(address),
      relations: { ...db({ data: { host: address } }), 8: { application: 'db', data: { index } } },
    }))
    expect(loopOf(historyOf(steps))?.because).toMatch(/db keep changing/)
  })

  test('are not let go by a change of the spec alone', () => {
    const held = historyOf([
      ...FOUR.map(takesOver),
      { ...takesOver('10.0.0.5'), relations: takesOver('10.0.0.3').relations },
    ])
    expect(running(held)).toBe('postgres://10.0.0.3/')
    expect(loopOf(held)).toBeDefined()
  })

  test('go on with a new revision', () => {
    const history = historyOf([...FOUR.map(takesOver), { ...takesOver('10.0.0.5'), rest: { revision: '2' } }])
    expect(loopOf(history)).toBeUndefined()
    expect(running(history)).toBe('postgres://10.0.0.5/')
  })

  test('are told the way out', () => {
    const loop = loopOf(historyOf(FOUR.map(takesOver)))
    expect(loop && loopMessage(loop)).toMatch(/name Services instead of addresses; set workload\.revision/)
  })
})

test('half an hour between two changes is soon, and four characters tell something', () => {
  const steps = ['db-1', 'db-2', 'db-3', 'db-4'].map((host) => ({ ...takesOver(host), minutes: 30 }))
  expect(loopOf(historyOf(steps))).toBeDefined()
})

test('of very many values the first are looked at', () => {
  const others = (index: number) => Array.from({ length: 1_000 }, (_, number) => `other-${index}-${number}`)
  const steps = FOUR.map((address, index) => ({ ...takesOver(address), relations: db([...others(index), address]) }))
  expect(loopOf(historyOf(steps))).toBeUndefined()
})

describe('no loop', () => {
  test.each([
    [
      'the spec follows, but takes nothing over',
      FOUR.map((address, index) => ({ ...takesOver(address), spec: podSpec(`web:${index}`) })),
    ],
    [
      'what is taken over was there before',
      FOUR.map((address, index) => ({ ...takesOver(address), relations: db({ data: { host: 'post', index } }) })),
    ],
    ['hours lie in between: a password is rotated', FOUR.map((address) => ({ ...takesOver(address), minutes: 31 }))],
    [
      'other applications change as well',
      FOUR.map((address, index) => ({
        ...takesOver(address),
        relations: { ...takesOver(address).relations, 8: { application: 'cache', data: index } },
      })),
    ],
    [
      'it is another application each time',
      FOUR.map((address, index) => ({
        ...takesOver(address),
        relations: Object.fromEntries(
          ['a', 'b', 'c'].map((application, id) => [
            id,
            { application, data: FOUR.slice(0, index + 1).findLast((_, step) => step % 3 === id) ?? '' },
          ]),
        ),
      })),
    ],
    [
      'the relation is another each time',
      FOUR.map((address, index) => ({
        ...takesOver(address),
        relations: { [index]: { application: `db-${index}`, data: address } },
      })),
    ],
    ['the config changes as well', FOUR.map((address, index) => ({ ...takesOver(address), rest: { index } }))],
  ])('%s', (_, steps) => {
    const history = historyOf(steps)
    expect(loopOf(history)).toBeUndefined()
    expect(history?.spec).toEqual(steps.at(-1)?.spec)
  })

  test('short values are everywhere, and no sign', () => {
    const steps = ['1', '2', '3', '4'].map((host) => ({ ...takesOver(host), relations: db({ host }) }))
    expect(loopOf(historyOf(steps))).toBeUndefined()
  })
})

test('a loop of its own ends when another application says something new', () => {
  const own = ['a', 'b', 'c', 'd'].map((value) => ({ spec: podSpec('web:1', value), relations: db({ host: 'db-1' }) }))
  expect(loopOf(historyOf(own))).toBeDefined()
  const told = { spec: podSpec('web:1', 'e'), relations: db({ host: 'db-2' }) }
  expect(running(historyOf([...own, told]))).toBe('e')
  const related = { ...told, relations: { ...db({ host: 'db-1' }), 8: { application: 'cache', data: {} } } }
  expect(running(historyOf([...own, related]))).toBe('e')
})

test('JSON in a string of a databag may be nested as deep as it likes', () => {
  const deep = (count: number) => db({ host: `${'['.repeat(count)}1${']'.repeat(count)}` })
  const steps = [100_000, 100_001, 100_002, 100_003].map((count, index) => ({
    spec: podSpec(`${index}`),
    relations: deep(count),
  }))
  expect(loopOf(historyOf(steps))).toBeUndefined()
})
