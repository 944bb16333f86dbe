import * as z from 'zod'
import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { isEmpty, type State } from '../src/state.ts'

/** A pod started. It is remembered for an application that is known; of others every pod in the namespace would leave a memory. */
export const podRestarted = defineFunction({
  name: 'pod-restarted',
  data: {
    unit: z.string().min(1).max(253).optional(),
    pod: z.strictObject({ name: ObjectName, uid: z.string().min(1).max(128) }),
  },
  observation: true,
  fold: (state, { unit, pod: { name, uid } }) => {
    if (isEmpty(state) || state.units[uid] !== undefined) return { state }
    const others = Object.entries(state.units).filter(([, known]) => known.pod !== name)
    const units = [...others, [uid, { pod: name, ...(unit !== undefined && { unit }) }]].slice(-MOST_UNITS)
    return { state: { ...state, units: Object.fromEntries(units) as State['units'] } }
  },
})

/** How many pods are remembered: the ones that started last. */
const MOST_UNITS = 500
