/** Deeper data is no databag, config or document, and would exhaust the stack of whoever walks it. */
export const DEEPEST = 64

export const isTooDeep = (value: unknown, levels = DEEPEST): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)))
