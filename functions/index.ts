import type { EventFunction } from '../src/core/events/event-function.ts'
import type { Features } from '../src/core/feature/combine.ts'
import { createApplicationRemoved } from './application-removed.ts'
import { createConfigChanged } from './config-changed.ts'
import { leaderElected } from './leader-elected.ts'
import { podRestarted } from './pod-restarted.ts'
import { relationBroken } from './relation-broken.ts'
import { relationChanged } from './relation-changed.ts'
import { resync } from './resync.ts'

/** Creates every function, for applications with these features. */
export const createFunctions = (features: Features): EventFunction[] => [
  relationChanged,
  relationBroken,
  createConfigChanged(features),
  leaderElected,
  podRestarted,
  createApplicationRemoved(features),
  resync,
]
