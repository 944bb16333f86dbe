/** Rounds a number that Prometheus extrapolated. What was seen at all is one at least. */
export const rounded = (value: number): number => (value > 0 ? Math.max(1, Math.round(value)) : 0)
