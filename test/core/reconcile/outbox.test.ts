import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/core/reconcile/change.ts'
import { outboxAfter } from '../../../src/core/reconcile/outbox.ts'
import { memoryObject } from '../../../src/core/state/memory.ts'
import { features } from '../../../src/features.ts'
import { ECHO } from '../../../src/platform/cloudevents/source.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { event, SUBJECT } from '../../helpers/world.ts'

const change = (more: Partial<Change> = {}): Change => ({ observation: false, fold: (state) => ({ state }), ...more })
const NUDGE = change({ observation: true, nudge: { isEcho: false } })
const AN_ECHO = change({ observation: true, nudge: { isEcho: true } })

/** The beacon does not know the relation, so it is to be nudged. */
const STATE = stateOf([entryOf()])
const BEFORE = stateOf([])
const PEERS = peersOf({ beacon: stateOf([]) })

/** How the beacon is told after a step: not at all, by a nudge, or by an echo. */
const told = (changes: readonly Change[], { before = STATE, written = [memoryObject(SUBJECT)] } = {}) =>
  outboxAfter(features, SUBJECT, STATE, PEERS, changes, { before, written }, new Date(0)).nudges.map(({ event }) =>
    event.extensions[ECHO] === undefined ? 'nudge' : 'echo',
  )

describe('the answer to a nudge', () => {
  test('the answer to a nudge that changed nothing is an echo, and to an echo nothing, so that two sides do not go on for ever', () => {
    expect(told([NUDGE])).toEqual(['echo'])
    expect(told([AN_ECHO])).toEqual([])
    expect(told([NUDGE, AN_ECHO])).toEqual([])
  })

  test('the answer to a nudge or an echo that changed the memory or an object is a nudge', () => {
    for (const one of [NUDGE, AN_ECHO]) {
      expect(told([one], { before: BEFORE })).toEqual(['nudge'])
      expect(told([one], { written: [memoryObject(SUBJECT), 'Service shop/web'] })).toEqual(['nudge'])
    }
  })

  test('the answer to an echo still announces what is offered', () => {
    const announcement = { event: event('service-announced', {}), number: 1 }
    const announcing = { ...features, announcements: () => [announcement] }
    const occasion = { before: STATE, written: [memoryObject(SUBJECT)] }
    const { nudges, announcements } = outboxAfter(announcing, SUBJECT, STATE, PEERS, [AN_ECHO], occasion, new Date(0))
    expect([nudges, announcements]).toEqual([[], [announcement]])
  })

  test('the answer to any other event is a nudge, though an echo comes with it', () => {
    expect(told([change()])).toEqual(['nudge'])
    expect(told([change(), AN_ECHO])).toEqual(['nudge'])
  })
})
