/** A relation that stands, and whose data the platform has told. */
export const TOLD = { standing: 'established', source: 'platform' } as const

/** An entry of a memory, as far as tests look at it. */
export type Entry = {
  readonly id: number
  readonly status: 'established' | 'ended'
  readonly remote: { readonly application: string; readonly namespace?: string }
  readonly published?: { readonly digest?: string }
  readonly document?: string
}

/** The relations of a memory by id, without those that wait for their ids. */
export const relationsById = (state: Readonly<Record<string, unknown>> | undefined): Record<number, Entry> => {
  const entries = Object.values((state?.relations ?? {}) as Record<string, Entry & { readonly waitsForId?: true }>)
  return Object.fromEntries(entries.filter(({ waitsForId }) => !waitsForId).map((entry) => [entry.id, entry]))
}
