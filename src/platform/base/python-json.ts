/** Serialises `value` byte for byte as Python's `json.dumps`: the charm library compares databags as strings. */
export const pythonJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => `${pythonJson(key)}: ${pythonJson(item)}`)
    return `{${entries.join(', ')}}`
  }
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
