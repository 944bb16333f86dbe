import { configPage, eventsPage } from './reference-pages.ts'
import { asyncApi, messages, schemas } from './schemas.ts'

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The generated files of docs/reference, by name. */
export const referenceFiles = (): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [`${name}.schema.json`, json(schema())])),
  'asyncapi.json': json(asyncApi()),
  'config.md': configPage(schemas.config?.() ?? {}),
  'events.md': eventsPage(messages()),
})
