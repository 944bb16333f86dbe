import * as z from 'zod'
import { defineFunction } from '../src/core/events/event-function.ts'
import type { Features } from '../src/core/feature/combine.ts'
import { refuseOwnedKeys } from '../src/core/relations/databags/application-data.ts'
import type { SpecSource } from '../src/core/state/config.ts'
import { Databags } from '../src/core/state/relation.ts'
import { type ApplicationData, type State, withData, withPending } from '../src/core/state/state.ts'
import { checkAuthority, type Leader, laterPending } from '../src/core/units/leader.ts'
import { LeaderSettings } from '../src/core/units/leader-settings.ts'
import type { Conceal } from '../src/core/workload/secret-store.ts'
import { Refused } from '../src/platform/base/errors.ts'
import { advance, type Late, lateMessage, type Mark, type Position } from '../src/platform/base/event-order.ts'
import { ObjectName } from '../src/platform/base/names.ts'
import { defined, ownValue } from '../src/platform/base/own-value.ts'

/**
 * Replaces the application's config as a whole, and likewise its `settings` and `databag`, which it publishes in relations. A `unit` that
 * sends them must lead. Without a leader, its data take effect once that unit is elected.
 */
export const createConfigChanged = ({ givenConfig }: Pick<Features, 'givenConfig'>) =>
  defineFunction({
    name: 'config-changed',
    data: {
      config: givenConfig.optional(),
      settings: LeaderSettings.optional(),
      databag: Databags.optional(),
      unit: z.string().min(1).max(253).optional(),
      epoch: z.int().nonnegative().optional(),
      /** The uid of the unit's pod. */
      uid: z.string().min(1).max(128).optional(),
      document: ObjectName.optional(),
    },
    look: ({ document, unit }) => ({
      ...(document !== undefined && { document, isTold: true }),
      ...(unit !== undefined && { mayLead: true }),
    }),
    fold: (state, { unit, epoch, uid, document, ...given }, { position, application, conceal }) => {
      const told = concealData(given, state, conceal)
      const { marks, late } = findNews(state, told, position)
      if (late) return { state, ...lateMessage(late, 'the config') }
      const data = selectNews(told, marks)
      const next = { ...state, marks: { ...state.marks, ...marks } }
      const authority = unit === undefined ? 'now' : checkAuthority({ ...state, application }, { unit, epoch, uid })
      if (authority === 'now')
        return { state: withData(withoutPending(next, data, unit), data, document), by: tellerFor(unit, document) }
      if ('refused' in authority) throw new Refused(403, authority.refused)
      return { state: withAsked(next, authority.pending, data) }
    },
  })

/** Adds pending data to those of the same unit. Of two epochs, the later one counts. Those of other units stay as they are. */
const withAsked = (state: State, leader: Leader, data: ApplicationData): State => {
  const all = state.pending ?? []
  const before = all.find(({ unit }) => unit === leader.unit)
  const isAdded = before !== undefined && before.epoch === leader.epoch
  const added = { ...leader, data: { ...(isAdded && before.data), ...data } }
  return withPending(state, [...all.filter((one) => one !== before), laterPending(before, added)])
}

const tellerFor = (unit: string | undefined, document: string | undefined): SpecSource => {
  if (document !== undefined) return 'document'
  return unit === undefined ? 'person' : 'unit'
}

const concealData = (given: ApplicationData, state: State, conceal: Conceal): ApplicationData => {
  const told: ApplicationData = defined({ ...given, config: given.config && conceal(given.config) })
  if (Object.keys(told).length === 0)
    throw new Refused(400, 'data.config: expected a config, or settings or a databag beside it')
  for (const databag of [told.databag, told.config?.databag]) refuseOwnedKeys(databag, state)
  return told
}

const selectNews = (told: ApplicationData, marks: Marks): ApplicationData =>
  defined({
    config: marks.config && told.config,
    settings: marks.settings && told.settings,
    databag: marks.databag && told.databag,
  })

type Marks = { [about in keyof ApplicationData]?: Mark }

/** Advances the mark of each part on its own, so that a part that arrives alone does not overtake the others. */
const findNews = (state: State, told: ApplicationData, position: Position): { marks: Marks; late?: Late } => {
  const advanced = Object.keys(told).map((about) => {
    const before = ownValue(state.marks, about as keyof Marks)
    return [about, advance(before, position, [state.marks?.application])] as const
  })
  const marks = advanced.filter(([, mark]) => typeof mark !== 'string')
  const [late] = advanced.flatMap(([, mark]) => (typeof mark === 'string' ? [mark] : []))
  return { marks: Object.fromEntries(marks), ...(late && marks.length === 0 && { late }) }
}

/** Drops pending data that the new data replace, unless they wait for a later epoch than the sender's. */
const withoutPending = (state: State, data: ApplicationData, unit: string | undefined): State => {
  const left = (state.pending ?? []).map((pending) => {
    if (unit !== undefined && pending.epoch !== undefined) return pending
    return {
      ...pending,
      data: Object.fromEntries(Object.entries(pending.data).filter(([about]) => !Object.hasOwn(data, about))),
    }
  })
  return withPending(state, left)
}
