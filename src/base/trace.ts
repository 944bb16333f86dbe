/** W3C trace context as headers: passed on as it came, since a step reports no spans of its own. */
export type Trace = Readonly<Record<string, string>>
