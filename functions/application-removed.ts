import { defineFunction } from '../src/core/events/event-function.ts'
import type { Features } from '../src/core/feature/combine.ts'
import { removeApplication } from '../src/core/reconcile/fold/remove-application.ts'
import type { State } from '../src/core/state/state.ts'
import { lateMessage } from '../src/platform/base/event-order.ts'
import { ObjectName } from '../src/platform/base/names.ts'

/**
 * Tells if the config of a document is in effect. The document may name the application and never have been taken, or the config has moved
 * to another one. A lost memory does not know it.
 */
const isInEffect = ({ document, config, lost }: State, name: string): boolean =>
  document === name || (lost?.labels === true && config === undefined)

/**
 * Removes the application. The deletion of a document removes it if the document's config is in effect. Functions receive events in any
 * order. In every order, data from after the removal are kept, and of earlier data only tombstones stay.
 */
export const createApplicationRemoved = (features: Pick<Features, 'parts'>) =>
  defineFunction({
    name: 'application-removed',
    isEnd: true,
    data: { document: ObjectName.optional() },
    look: ({ document }) => ({ everything: true, ...(document !== undefined && { document }) }),
    fold: (state, { document }, { position, now }) => {
      if (document !== undefined && !isInEffect(state, document)) return { state }
      const removed = removeApplication(features, state, position, now)
      return { state: removed.state, ...lateMessage(removed.late, 'the application') }
    },
  })
