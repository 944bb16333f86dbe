/**
 * Lists the objects of a list, also of lists in it, or the value itself. The items of a list of one kind may lack their kind, as the API server
 * answers them.
 */
export const itemsIn = (value: unknown): unknown[] => {
  if (typeof value !== 'object' || value === null) return [value]
  const { apiVersion, kind, items } = value as Readonly<Record<string, unknown>>
  if (!Array.isArray(items) || !String(kind).endsWith('List')) return [value]
  const own = kind === 'List' ? {} : { apiVersion, kind: String(kind).replace(/List$/, '') }
  return items.flatMap((item) => itemsIn(typeof item === 'object' && item !== null ? { ...own, ...item } : item))
}
