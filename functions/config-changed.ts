import { Config } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { accept, isStale } from '../src/order.ts'

/** The application's config as a whole: it replaces the one before. */
export const configChanged = defineFunction({
  name: 'config-changed',
  data: { config: Config },
  fold: (state, { config }, { position }) => {
    if (isStale(state, 'config', position)) return { state, stale: 'the config has moved on since this event' }
    return { state: accept({ ...state, config }, 'config', position) }
  },
})
