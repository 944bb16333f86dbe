/** W3C trace context as headers: passed on as it came where no spans are reported. */
export type Trace = Readonly<Record<string, string>>
