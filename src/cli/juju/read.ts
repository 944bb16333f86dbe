import * as z from 'zod'
import { describeIssues } from '../../platform/base/issues.ts'
import { Failure } from '../failure.ts'

/** A related application. Juju 2 gives only its name. */
const Related = z
  .union([z.string(), z.object({ 'related-application': z.string(), interface: z.string().optional() })])
  .transform((one) =>
    typeof one === 'string'
      ? { application: one, interface: undefined }
      : { application: one['related-application'], interface: one.interface },
  )

const Endpoints = z.record(z.string(), z.object({ role: z.enum(['provider', 'requirer']), interface: z.string() }))

const Application = z.object({
  life: z.string().optional(),
  relations: z.record(z.string(), z.array(Related)).default({}),
  'subordinate-to': z.array(z.string()).default([]),
  units: z.record(z.string(), z.unknown()).default({}),
})

/** An entry that Juju could not read has only an error. */
const Unreadable = z.object({ 'status-error': z.string() })

const Status = z.object({
  model: z.object({ name: z.string(), type: z.string().optional() }),
  applications: z.record(z.string(), z.union([Unreadable, Application])).default({}),
  'application-endpoints': z
    .record(z.string(), z.union([Unreadable, z.object({ url: z.string(), endpoints: Endpoints.default({}) })]))
    .default({}),
  offers: z
    .record(z.string(), z.union([Unreadable, z.object({ application: z.string(), endpoints: Endpoints.default({}) })]))
    .default({}),
})

const Databag = z.record(z.string(), z.unknown())

const RelationInfo = z.object({
  'relation-id': z.int().nonnegative().optional(),
  endpoint: z.string(),
  'related-endpoint': z.string(),
  'cross-model': z.boolean().default(false),
  'application-data': Databag.default({}),
  'related-units': z.record(z.string(), z.object({ data: Databag.default({}) })).default({}),
})

const UNIT = /^[a-z][-a-z0-9]*\/\d+$/

const Units = z.record(z.string().regex(UNIT), z.object({ 'relation-info': z.array(RelationInfo).default([]) }))

export type Status = z.infer<typeof Status>
export type Application = z.infer<typeof Application>
export type RelationInfo = z.infer<typeof RelationInfo>

/** The roles of a relation's sides, each `application:endpoint`. */
export type Sides = { readonly provider: string; readonly requirer: string; readonly interface: string }

/** A model: its status, and the given units and roles in relations. */
export type Model = {
  readonly name: string
  readonly status: Status
  readonly units: Map<string, readonly RelationInfo[]>
  readonly sides: Sides[]
}

type Input = { readonly path: string; readonly text: string }

type Part = { readonly status: Status } | { readonly units: z.infer<typeof Units> } | { readonly sides: Sides[] }

/**
 * Reads the output of Juju: `juju status --format json`, `juju show-unit --format json` and the table of `juju status --relations`. Units and tables
 * belong to the preceding status, else to the first one. Throws Failure for other input.
 */
export const readModels = (inputs: readonly Input[]): Model[] => {
  const parts = inputs.flatMap(partsOf)
  const models: Model[] = []
  const early: Part[] = []
  for (const part of parts) {
    const model = models.at(-1)
    if ('status' in part)
      models.push({ name: part.status.model.name, status: part.status, units: new Map(), sides: [] })
    else if (model === undefined) early.push(part)
    else add(model, part)
  }
  const [first] = models
  if (first === undefined) throw new Failure('no output of juju status --format json was given')
  for (const part of early) add(first, part)
  return models
}

const add = ({ units, sides }: Model, part: Part): void => {
  if ('sides' in part) sides.push(...part.sides)
  if ('units' in part) for (const [name, unit] of Object.entries(part.units)) units.set(name, unit['relation-info'])
}

/** Parses a text, which is one JSON value, or one value on each line with tables between them. */
const partsOf = ({ path, text }: Input): Part[] => {
  const whole = parsed(text)
  if (whole !== undefined) return [partOf(path, whole)]
  const lines = text.split('\n')
  const values = lines.filter((line) => line.startsWith('{')).map((line) => partOf(path, parsed(line)))
  const table = sidesIn(lines.filter((line) => !line.startsWith('{')))
  if (values.length === 0 && table === undefined)
    throw new Failure(`${path}: expected what juju status and juju show-unit print with --format json`)
  return [...values, ...(table === undefined ? [] : [{ sides: table }])]
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const partOf = (path: string, value: unknown): Part => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isObject && 'applications' in value) return { status: checked(path, Status, value) }
  if (isObject && Object.keys(value).every((name) => UNIT.test(name))) return { units: checked(path, Units, value) }
  throw new Failure(`${path}: expected what juju status and juju show-unit print with --format json`)
}

const checked = <T>(path: string, schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new Failure(`${path}: ${describeIssues(result.error)}`)
}

/** Reads the table of relations, the only output in which Juju names the provider. Returns undefined if there is none. */
const sidesIn = (lines: readonly string[]): Sides[] | undefined => {
  const start = lines.findIndex((line) => /^(Integration|Relation) provider\s+Requirer\s+Interface/.test(line))
  if (start < 0) return undefined
  const rows = lines.slice(start + 1).map((line) => line.trim().split(/\s+/))
  const end = rows.findIndex((row) => row.length < 4)
  return rows
    .slice(0, end < 0 ? undefined : end)
    .map(([provider = '', requirer = '', name = '']) => ({ provider, requirer, interface: name }))
}
