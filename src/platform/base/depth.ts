/** The limit of levels in databags, configs and documents. Deeper values would exhaust the stack. */
export const DEEPEST = 64

export const isTooDeep = (value: unknown, levels = DEEPEST): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)))
