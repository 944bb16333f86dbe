import { readFile, writeFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { isRecord } from '../src/platform/base/own-value.ts'

/** A schema without its sentences; a property may be called description. */
const facts = (value: unknown, isMapOfSchemas = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => facts(item))
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(
    ([key, member]) => isMapOfSchemas || key !== 'description' || isRecord(member),
  )
  return Object.fromEntries(kept.map(([key, member]) => [key, facts(member, !isMapOfSchemas && key === 'properties')]))
}

type Definition = {
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: { kind: string; plural: string; shortNames?: string[]; categories?: string[] }
    readonly versions: readonly { name: string; schema: { openAPIV3Schema: unknown } }[]
  }
}

/** The part of a CustomResourceDefinition that the embedded API needs. */
const entryOf = ({ spec: { group, names, scope, versions } }: Definition) => {
  const { kind, plural, shortNames = [], categories = [] } = names
  const schema = versions.find(({ name }) => name === 'v1')?.schema.openAPIV3Schema
  if (schema === undefined) throw new Error(`${plural}.${group} has no version v1: give another release of it`)
  return { group, kind, plural, shortNames, categories, namespaced: scope === 'Namespaced', schema: facts(schema) }
}

const files = process.argv.slice(2)
if (files.length === 0) {
  process.stderr.write('usage: node node24.mjs tools/crds.ts FILE..., each with a CustomResourceDefinition in YAML\n')
  process.exit(1)
}
const entries = await Promise.all(files.map(async (file) => entryOf(parse(await readFile(file, 'utf8')))))
const lines = entries.map((entry) => JSON.stringify(entry))
await writeFile('src/embedded/kinds/custom-kinds.json', `[\n${lines.join(',\n')}\n]\n`)
