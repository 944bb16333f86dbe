import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  checkAuthority,
  currentLeader,
  type Leader,
  laterPending,
  type Pending,
  resolvePending,
} from '../../../src/core/units/leader.ts'
import { noUnits, observePods, type Units } from '../../../src/core/units/units.ts'
import { runs } from '../../helpers/runs.ts'

const WEB = { workload: 'web', type: 'stateless' } as const

type Memory = { units: Units; leader: Leader | undefined; config: string; pending: Pending<string> | undefined }
type Act = { pod: true } | { gone: number } | { elect: number } | { ask: number; epoch: number | undefined }

/** A unit among those there ever were, or the next one, which nobody told of yet. */
const unit = fc.nat({ max: 5 })
const acts = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Act>({ pod: true }) },
    { weight: 2, arbitrary: fc.record<Act & { gone: number }>({ gone: unit }) },
    { weight: 2, arbitrary: fc.record<Act & { elect: number }>({ elect: unit }) },
    { weight: 4, arbitrary: fc.record({ ask: unit, epoch: fc.option(fc.nat({ max: 6 }), { nil: undefined }) }) },
  ),
  { maxLength: 30 },
)

const settled = (memory: Memory): Memory => {
  const { pending, ...others } = memory
  if (pending === undefined) return memory
  const result = resolvePending({ application: 'web', ...others }, pending)
  if ('due' in result) return { ...memory, config: result.due, pending: undefined }
  return 'pending' in result ? memory : { ...memory, pending: undefined }
}

const asked = (memory: Memory, claim: Leader, config: string): Memory => {
  const authority = checkAuthority({ application: 'web', ...memory }, claim)
  if (authority === 'now') return { ...memory, config }
  if ('refused' in authority) return memory
  return { ...memory, pending: laterPending(memory.pending, { ...authority.pending, data: config }) }
}

const acted = (memory: Memory, act: Act, index: number): Memory => {
  const { units, leader } = memory
  if ('pod' in act) {
    const uid = `${units.next}`
    return settled({ ...memory, units: observePods(units, { added: { name: `web-p${uid}`, uid: `u${uid}` } }, WEB) })
  }
  if ('gone' in act) return settled({ ...memory, units: observePods(units, { gone: `u${act.gone}` }, WEB) })
  if ('elect' in act)
    return settled({ ...memory, leader: { unit: `web/${act.elect}`, epoch: (leader?.epoch ?? 0) + 1 } })
  return asked(memory, { unit: `web/${act.ask}`, epoch: act.epoch }, `config ${index}`)
}

const START: Memory = { units: noUnits(), leader: undefined, config: 'none', pending: undefined }

const played = (history: readonly Act[]): Memory => history.reduce(acted, START)

/** Each act, with the memory before and after it. */
const each = (history: readonly Act[]) => {
  let memory = START
  return history.map((act, index) => {
    const before = memory
    memory = acted(before, act, index)
    return { act, before, memory }
  })
}

test('the config changes when the leader asks, or for what waited once its unit leads: never otherwise', () => {
  fc.assert(
    fc.property(acts, (history) => {
      for (const { act, before, memory } of each(history)) {
        if (memory.config === before.config) continue
        if ('ask' in act) expect(currentLeader({ application: 'web', ...before })?.unit).toBe(`web/${act.ask}`)
        else
          expect([before.pending?.data, before.pending?.unit]).toEqual([
            memory.config,
            currentLeader({ application: 'web', ...memory })?.unit,
          ])
      }
    }),
    { numRuns: runs(1_000) },
  )
})

test('what is refused leaves no trace', () => {
  fc.assert(
    fc.property(acts, unit, fc.nat({ max: 6 }), (history, number, epoch) => {
      const memory = played(history)
      const claim = { unit: `web/${number}`, epoch }
      const authority = checkAuthority({ application: 'web', ...memory }, claim)
      if (authority === 'now' || 'pending' in authority) return
      expect(authority.refused).toContain(claim.unit)
      expect(authority.refused).toContain(currentLeader({ application: 'web', ...memory })?.unit ?? 'no leader')
      expect(asked(memory, claim, 'refused')).toEqual(memory)
    }),
    { numRuns: runs(2_000) },
  )
})

/** With as many more pods, of which nobody has told before. */
const withPods = (memory: Memory, count: number): Memory =>
  Array.from({ length: count }).reduce<Memory>((before) => {
    const pod = { name: `web-new${before.units.next}`, uid: `new${before.units.next}` }
    return settled({ ...before, units: observePods(before.units, { added: pod }, WEB) })
  }, memory)

test('what was asked last while nobody led is done once its unit leads, and dropped when another one does', () => {
  fc.assert(
    fc.property(acts, fc.nat({ max: 3 }), (history, others) => {
      // of two units that nobody elected none leads
      const before = withPods(played(history), 2)
      const gap: Memory = { ...before, leader: undefined, pending: undefined }
      const waiting = asked(gap, { unit: `web/${gap.units.next}` }, 'asked in the gap')
      const elected = acted(waiting, { elect: gap.units.next + others }, 0)
      expect([waiting.config, elected.config]).toEqual([before.config, before.config])
      const led = withPods(elected, others + 1)
      const wanted = others === 0 ? 'asked in the gap' : before.config
      expect([led.config, led.pending]).toEqual([wanted, undefined])
      const uids = Object.keys(led.units.present)
      const going = uids.map(
        (gone) => (memory: Memory) => settled({ ...memory, units: observePods(memory.units, { gone }, WEB) }),
      )
      expect(going.reduce((memory, go) => go(memory), led).config).toBe(wanted)
    }),
    { numRuns: runs(1_000) },
  )
})
