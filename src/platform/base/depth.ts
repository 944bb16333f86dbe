/** Bounds the depth of databags, configs and documents, which would otherwise exhaust the stack. */
export const DEEPEST = 64

export const isTooDeep = (value: unknown, levels = DEEPEST): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)))
