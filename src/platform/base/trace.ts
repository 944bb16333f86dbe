/** W3C trace context as headers. It is passed on unchanged if no spans are reported. */
export type Trace = Readonly<Record<string, string>>
