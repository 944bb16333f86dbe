import { defineFunction } from '../src/core/events/event-function.ts'
import type { Features } from '../src/core/feature/combine.ts'
import { removeApplication } from '../src/core/reconcile/fold/remove-application.ts'
import { lateMessage } from '../src/platform/base/event-order.ts'
import { ObjectName } from '../src/platform/base/names.ts'

/**
 * Removes the application. The deletion of a document removes it if that document's config is in effect, as far as the memory knows: a document may name
 * the application and never have been taken. Functions receive events in any order. In every order, data from after the removal are kept, and of earlier
 * data only tombstones stay.
 */
export const createApplicationRemoved = (features: Pick<Features, 'parts'>) =>
  defineFunction({
    name: 'application-removed',
    isEnd: true,
    data: { document: ObjectName.optional() },
    look: ({ document }) => ({ everything: true, ...(document !== undefined && { document }) }),
    fold: (state, { document }, { position, now }) => {
      if (document !== undefined && document !== state.document) return { state }
      const removed = removeApplication(features, state, position, now)
      return { state: removed.state, ...lateMessage(removed.late, 'the application') }
    },
  })
