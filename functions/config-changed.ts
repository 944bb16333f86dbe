import * as z from 'zod'
import { Config } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { accept, isStale } from '../src/order.ts'
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
    config: Config.optional(),
    settings: LeaderSettings.optional(),
    unit: z.string().min(1).max(253).optional(),
    epoch: z.int().nonnegative().optional(),
    /** Of the unit's pod. */
    uid: z.string().min(1).max(128).optional(),
  },
  fold: (state, { config, settings, unit, epoch, uid }, { position, application }) => {
    if (config === undefined && settings === undefined)
      throw new Refused(400, 'data.config: expected a config, or settings beside it')
    // each has an order of its own: one that is told without the other does not overtake it
    const isNews = (about: string) => !isStale(state, about, position)
    const data: ApplicationData = {
      ...(config && isNews('config') && { config }),
      ...(settings && isNews('settings') && { settings }),
    }
    const told = Object.keys(data)
    if (told.length === 0) return { state, stale: 'the config has moved on since this event' }
    const accepted = (next: State) => told.reduce((before, about) => accept(before, about, position), next)
    const authority = unit === undefined ? 'now' : authorityOf({ ...state, application }, { unit, epoch, uid })
    if (authority === 'now') return { state: accepted({ ...withoutPending(state, data, unit), ...data }) }
    if ('refused' in authority) throw new Refused(403, authority.refused)
    const { pending } = state
    const isAdded = pending !== undefined && pending.epoch === authority.pending.epoch
    const next = { ...authority.pending, data: { ...(isAdded && pending.data), ...data } }
    return { state: accepted({ ...state, pending: laterPending(pending, next) }) }
  },
})

/** What waited for a leader was asked for before, unless it waits for the leader of a later epoch than that of the one who speaks. */
const withoutPending = (state: State, data: ApplicationData, unit: string | undefined): State => {
  const { pending, ...others } = state
  if (pending === undefined || (unit !== undefined && pending.epoch !== undefined)) return state
  const left = Object.entries(pending.data).filter(([about]) => !Object.hasOwn(data, about))
  return left.length === 0 ? others : { ...others, pending: { ...pending, data: Object.fromEntries(left) } }
}
