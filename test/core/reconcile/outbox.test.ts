import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/core/reconcile/change.ts'
import { outboxAfter } from '../../../src/core/reconcile/outbox.ts'
import { memoryObject } from '../../../src/core/state/memory.ts'
import { features } from '../../../src/features.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { event, SUBJECT } from '../../helpers/world.ts'

const change = (more: Partial<Change> = {}): Change => ({ observation: false, fold: (state) => ({ state }), ...more })
const NUDGE = change({ observation: true, isNudge: true })

/** The beacon has seen nothing of what is published, so it is to be nudged. */
const STATE = stateOf([entryOf()])
const BEFORE = stateOf([])
const PEERS = peersOf({ beacon: stateOf([entryOf({ role: 'provides', remote: { application: 'web' } })]) })

/** How often the beacon is told after a step. */
const told = (changes: readonly Change[], { before = STATE, written = [memoryObject(SUBJECT)] } = {}) =>
  outboxAfter(features, SUBJECT, STATE, PEERS, changes, { before, written }, new Date(0)).nudges.length

describe('the answer to a nudge', () => {
  test('nothing answers a nudge that changed nothing, so that two sides do not go on for ever', () => {
    expect(told([NUDGE])).toBe(0)
    expect(told([NUDGE, NUDGE])).toBe(0)
  })

  test('a nudge answers one that changed the memory or an object', () => {
    expect(told([NUDGE], { before: BEFORE })).toBe(1)
    expect(told([NUDGE], { written: [memoryObject(SUBJECT), 'Service shop/web'] })).toBe(1)
  })

  test('a step that answers nothing still announces what is offered', () => {
    const announcement = { event: event('service-announced', {}), number: 1 }
    const announcing = { ...features, announcements: () => [announcement] }
    const occasion = { before: STATE, written: [memoryObject(SUBJECT)] }
    const { nudges, announcements } = outboxAfter(announcing, SUBJECT, STATE, PEERS, [NUDGE], occasion, new Date(0))
    expect([nudges, announcements]).toEqual([[], [announcement]])
  })

  test('a nudge that changed nothing is answered to who awaits it, by nobody who awaits others', () => {
    const awaited = peersOf({ beacon: { ...stateOf([]), awaiting: 'labels-applied' } })
    const answers = (state: typeof STATE) => {
      const occasion = { before: state, written: [] }
      return outboxAfter(features, SUBJECT, state, awaited, [NUDGE], occasion, new Date(0)).nudges.length
    }
    expect(answers(STATE)).toBe(1)
    expect(answers({ ...STATE, awaiting: 'claims-applied' })).toBe(0)
  })

  test('a nudge that changed nothing is answered to who does not know the relation yet: it may have made its memory meanwhile', () => {
    const occasion = { before: STATE, written: [] }
    const unaware = peersOf({ beacon: stateOf([]) })
    expect(outboxAfter(features, SUBJECT, STATE, unaware, [NUDGE], occasion, new Date(0)).nudges).toHaveLength(1)
  })

  test('a nudge answers any other event, though a nudge comes with it', () => {
    expect(told([change()])).toBe(1)
    expect(told([change(), NUDGE])).toBe(1)
  })
})
