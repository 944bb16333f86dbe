import { lateMessage } from '../src/base/event-order.ts'
import { ObjectName } from '../src/base/names.ts'
import type { Features } from '../src/feature/combine.ts'
import { defineFunction } from '../src/reconcile/event-function.ts'
import { removeApplication } from '../src/reconcile/removal.ts'

/**
 * The application goes, and so everything is let go of. Events are not ordered between functions: what comes after the removal is kept,
 * what came before is forgotten but for tombstones, whichever of them arrives first.
 */
export const createApplicationRemoved = (features: Pick<Features, 'parts'>) =>
  defineFunction({
    name: 'application-removed',
    data: { document: ObjectName.optional() },
    look: ({ document }) => ({ everything: true, ...(document !== undefined && { document }) }),
    fold: (state, { document }, { position, now }) => {
      // the config is kept in another document by now
      if (document !== undefined && state.document !== undefined && state.document !== document) return { state }
      const removed = removeApplication(features, state, position, now)
      return 'state' in removed ? removed : { state, ...lateMessage(removed.late, 'the application') }
    },
  })
