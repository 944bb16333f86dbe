import * as z from 'zod'

const A_KEY = 'expected a key: at most 253 letters, digits, - _ and .'

/** A key that a ConfigMap may have. */
export const DataKey = z.string().regex(/^(?!\.{1,2}$|\.\.)[-._a-zA-Z0-9]{1,253}$/, A_KEY)

/** The application's own databag. Its leader sets it as a whole, and every unit reads it. */
export const LeaderSettings = z.record(DataKey, z.string('expected a string'))
export type LeaderSettings = z.infer<typeof LeaderSettings>
