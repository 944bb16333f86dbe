import { applicationRemoved } from './application-removed.ts'
import { configChanged } from './config-changed.ts'
import { leaderElected } from './leader-elected.ts'
import { podRestarted } from './pod-restarted.ts'
import { relationBroken } from './relation-broken.ts'
import { relationChanged } from './relation-changed.ts'
import { resync } from './resync.ts'

/** Every function there is. */
export const functions = [
  relationChanged,
  relationBroken,
  configChanged,
  leaderElected,
  podRestarted,
  applicationRemoved,
  resync,
] as const
