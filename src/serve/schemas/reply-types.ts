/** The types of the answers to events. Steps read them, so they are apart from the schemas of their data. */
export const REPLY_TYPES = {
  reconciled: 'dev.meshstep.reconciled.v1',
  planned: 'dev.meshstep.planned.v1',
} as const
