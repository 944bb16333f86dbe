import * as z from 'zod'
import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { at } from '../src/record.ts'
import type { State } from '../src/state.ts'

/** A pod started. Pods alone are no memory: of an application that is not known otherwise nothing is kept. */
export const podRestarted = defineFunction({
  name: 'pod-restarted',
  data: {
    unit: z.string().min(1).max(253).optional(),
    pod: z.strictObject({ name: ObjectName, uid: z.string().min(1).max(128) }),
  },
  observation: true,
  fold: (state, { unit, pod: { name, uid } }) => {
    if (at(state.units, uid) !== undefined) return { state }
    const others = Object.entries(state.units).filter(([, known]) => known.pod !== name)
    const units = [...others.slice(1 - MOST_UNITS), [uid, { pod: name, ...(unit !== undefined && { unit }) }]]
    return { state: { ...state, units: Object.fromEntries(units) as State['units'] } }
  },
})

/** How many pods are remembered: the ones that started last. */
const MOST_UNITS = 500
