import * as z from 'zod'
import { Config } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { accept, isStale } from '../src/order.ts'
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
    if (isStale(state, 'config', position)) return { state, stale: 'the config has moved on since this event' }
    const data = { ...(config && { config }), ...(settings && { settings }) }
    // what waited for a leader was asked for before
    const { pending: _, ...others } = state
    const next = accept({ ...others, ...data }, 'config', position)
    if (unit === undefined) return { state: next }
    const authority = authorityOf({ ...state, application }, { unit, epoch, uid })
    if (authority === 'now') return { state: next }
    if ('refused' in authority) throw new Refused(403, authority.refused)
    const pending = laterPending(state.pending, { ...authority.pending, data })
    return { state: accept({ ...state, pending }, 'config', position) }
  },
})
