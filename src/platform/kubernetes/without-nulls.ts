/** Fields whose members have free names. The API server takes a null among them for an empty value. */
const MAPS = [
  ...[
    'annotations',
    'configMaps',
    'labels',
    'limits',
    'matchLabels',
    'nodeSelector',
    'options',
    'overhead',
    'requests',
  ],
  ...['secrets', 'volumeAttributes'],
]

/** Leaves out null fields, as the API server does. Templates of charts render fields without a value as null. */
export const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(
    fields.map(([key, inner]) => [key, MAPS.includes(key) && !Array.isArray(inner) ? inner : withoutNulls(inner)]),
  )
}
