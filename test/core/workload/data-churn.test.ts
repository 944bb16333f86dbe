import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SpecSource } from '../../../src/core/state/config.ts'
import { DataChurn, heldMessages, withDataChurn } from '../../../src/core/workload/churn/data-churn.ts'

type Memory = Parameters<typeof withDataChurn>[0]

const MINUTE = 60_000
const CONFIG = { churn: { changes: 2, minutes: 30 } }

type Told = {
  settings?: Record<string, string>
  databag?: Record<string, Record<string, string>>
  units?: NonNullable<Memory['units']>
}

/** The memory after each was told, a minute after the one before; nothing told is another event. */
const memoryAfter = (
  all: readonly (Told & { by?: SpecSource; wait?: number })[],
  config: Memory['config'] = CONFIG,
): Memory => {
  let memory: Memory = { config }
  let now = 0
  for (const { by = 'unit', wait = MINUTE, ...told } of all) {
    now += wait
    memory = withDataChurn(memory, { ...memory, ...told }, by, now)
    if (memory.dataChurn)
      expect(DataChurn.parse(JSON.parse(JSON.stringify(memory.dataChurn)))).toEqual(memory.dataChurn)
  }
  return memory
}

const colours = (...values: string[]): Told[] => values.map((colour) => ({ settings: { colour } }))

describe('a setting that units change at each run', () => {
  test('a setting that units change at each run is changed as often as the config allows, and stays then', () => {
    expect(memoryAfter(colours('a', 'b')).settings).toEqual({ colour: 'b' })
    const memory = memoryAfter(colours('a', 'b', 'c', 'd'))
    expect(memory.settings).toEqual({ colour: 'b' })
    expect(heldMessages(memory)).toEqual([
      expect.stringMatching(/^settings\.colour: units changed it 2 times within 30 minutes/),
    ])
  })

  test('a setting that units change at each run is what was told last once that may be, with whatever event', () => {
    const memory = memoryAfter([...colours('a', 'b', 'c', 'd'), { wait: 31 * MINUTE }])
    expect([memory.settings, heldMessages(memory)]).toEqual([{ colour: 'd' }, []])
  })

  test('a setting that units change at each run leaves the others to be changed, and to go', () => {
    const memory = memoryAfter([...colours('a', 'b', 'c'), { settings: { colour: 'd', size: '1' } }])
    expect(memory.settings).toEqual({ colour: 'b', size: '1' })
  })

  test('a setting that units change at each run does not go either, and goes when it may', () => {
    const memory = [...colours('a', 'b', 'c'), { settings: {} }]
    expect(memoryAfter(memory).settings).toEqual({ colour: 'b' })
    expect(memoryAfter([...memory, { wait: 31 * MINUTE }]).settings).toEqual({})
  })

  test('a setting that units change at each run and that is told as it is again is held back no more', () => {
    expect(heldMessages(memoryAfter(colours('a', 'b', 'c', 'b')))).toEqual([])
  })

  test('a setting that units change at each run is what a person says at once', () => {
    const memory = memoryAfter([...colours('a', 'b', 'c'), { settings: { colour: 'x' }, by: 'person' }])
    expect([memory.settings, heldMessages(memory)]).toEqual([{ colour: 'x' }, []])
  })

  test('a setting that units change at each run counts apart from a key of a databag', () => {
    const bags = ['a', 'b', 'c'].map((url) => ({ databag: { db: { url } } }))
    const memory = memoryAfter([...bags, { settings: { url: '1' } }])
    expect([memory.databag, memory.settings]).toEqual([{ db: { url: 'b' } }, { url: '1' }])
    expect(heldMessages(memory)).toEqual([expect.stringMatching(/^databag\.db\.url: /)])
  })
})

test('what people tell is never held back, however often', () => {
  const told = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'toString'), fc.string(), { noNullPrototype: true })
  fc.assert(
    fc.property(fc.array(told, { minLength: 1 }), (all) => {
      const memory = memoryAfter(all.map((settings) => ({ settings, by: 'person' as const })))
      expect(memory.settings).toEqual(all.at(-1))
    }),
  )
})

test('once enough time has passed everything is as it was told last', () => {
  const told = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3'))
  fc.assert(
    fc.property(fc.array(told, { minLength: 1, maxLength: 20 }), (all) => {
      const memory = memoryAfter([...all.map((settings) => ({ settings })), { wait: 31 * MINUTE }])
      expect(memory.settings).toEqual({ ...all.at(-1) })
    }),
  )
})

describe('the databag of a unit', () => {
  const units = (...present: [uid: string, host: string][]): Told => ({
    units: {
      present: Object.fromEntries(
        present.map(([uid, host]) => [uid, { pod: `web-${uid}`, databag: { website: { host } } }]),
      ),
    },
  })
  const hostOf = (memory: Memory, uid: string) => memory.units?.present[uid]?.databag?.website

  test('the databag of a unit that changes at each run keeps its value, and the others are told as ever', () => {
    const memory = memoryAfter(['a', 'b', 'c'].map((host) => units(['one', host], ['two', 'x'])))
    expect([hostOf(memory, 'one'), hostOf(memory, 'two')]).toEqual([{ host: 'b' }, { host: 'x' }])
    expect(heldMessages(memory)).toEqual([
      expect.stringMatching(/^databag\.website\.host of pod web-one: units changed it 2 times within 30 minutes/),
    ])
  })

  test('the databag of a unit is what was told last once that may be', () => {
    const memory = memoryAfter([...['a', 'b', 'c'].map((host) => units(['one', host])), { wait: 31 * MINUTE }])
    expect([hostOf(memory, 'one'), heldMessages(memory)]).toEqual([{ host: 'c' }, []])
  })

  test('the databag of a unit goes with the unit, held back or not', () => {
    const memory = memoryAfter([...['a', 'b', 'c'].map((host) => units(['one', host])), { units: { present: {} } }])
    expect([memory.units?.present, heldMessages(memory)]).toEqual([{}, []])
  })
})
