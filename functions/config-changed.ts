import * as z from 'zod'
import { GivenConfig, ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { advance, type Late, lateMessage, type Mark, type Position } from '../src/order.ts'
import { at, defined } from '../src/record.ts'
import type { ApplicationData, State } from '../src/state.ts'
import { authorityOf, laterPending } from '../src/workload/leader.ts'
import { LeaderSettings } from '../src/workload/leader-settings.ts'

/**
 * The application's config as a whole: it replaces the one before. So do the `settings`, the application's own databag. A `unit` that
 * sends them must lead; while nobody does, what it sends waits for the next leader.
 */
export const configChanged = defineFunction({
  name: 'config-changed',
  data: {
    config: GivenConfig.optional(),
    settings: LeaderSettings.optional(),
    unit: z.string().min(1).max(253).optional(),
    epoch: z.int().nonnegative().optional(),
    /** Of the unit's pod. */
    uid: z.string().min(1).max(128).optional(),
    document: ObjectName.optional(),
  },
  look: ({ document }) => (document === undefined ? {} : { document, isTold: true }),
  fold: (state, { config, settings, unit, epoch, uid, document }, { position, application }) => {
    if (config === undefined && settings === undefined)
      throw new Refused(400, 'data.config: expected a config, or settings beside it')
    const { marks, late } = newsOf(state, defined({ config, settings }), position)
    if (late) return { state, ...lateMessage(late, 'the config') }
    const data: ApplicationData = defined({
      config: marks.config && config,
      settings: marks.settings && settings,
    })
    const next = { ...state, marks: { ...state.marks, ...marks } }
    const authority = unit === undefined ? 'now' : authorityOf({ ...state, application }, { unit, epoch, uid })
    if (authority === 'now') return { state: withData(withoutPending(next, data, unit), data, document) }
    if ('refused' in authority) throw new Refused(403, authority.refused)
    const { pending } = state
    const isAdded = pending !== undefined && pending.epoch === authority.pending.epoch
    const added = { ...authority.pending, data: { ...(isAdded && pending.data), ...data } }
    return { state: { ...next, pending: laterPending(pending, added) } }
  },
})

type Marks = { config?: Mark; settings?: Mark }

/** Config and settings have an order each: one that is told without the other does not overtake it. */
const newsOf = (state: State, told: ApplicationData, position: Position): { marks: Marks; late?: Late } => {
  const advanced = Object.keys(told).map((about) => {
    const before = at(state.marks, about as keyof Marks)
    return [about, advance(before, position, [state.marks?.application])] as const
  })
  const marks = advanced.filter(([, mark]) => typeof mark !== 'string')
  const [late] = advanced.flatMap(([, mark]) => (typeof mark === 'string' ? [mark] : []))
  return { marks: Object.fromEntries(marks), ...(late && marks.length === 0 && { late }) }
}

/** A config brings an application back that was removed, and says in which document it is kept. */
const withData = (state: State, data: ApplicationData, document: string | undefined): State => {
  if (data.config === undefined) return { ...state, ...data }
  const { removed: _r, document: _d, ...others } = state
  return defined({ ...others, document, ...data })
}

/** What waited for a leader was asked for before, unless it waits for the leader of a later epoch than that of the one who speaks. */
const withoutPending = (state: State, data: ApplicationData, unit: string | undefined): State => {
  const { pending, ...others } = state
  if (pending === undefined || (unit !== undefined && pending.epoch !== undefined)) return state
  const left = Object.entries(pending.data).filter(([about]) => !Object.hasOwn(data, about))
  return left.length === 0 ? others : { ...others, pending: { ...pending, data: Object.fromEntries(left) } }
}
