import * as z from 'zod'
import { describeIssues } from '../../platform/base/issues.ts'
import { isRecord } from '../../platform/base/own-value.ts'
import { parseJson } from '../../platform/base/structured-text.ts'
import { Failure } from '../failure.ts'
import { documentsOf, type File, valuesIn } from '../input.ts'

/** A related application. Juju before 3.1.3 gives only its name. */
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
  units: z.record(z.string(), z.object({ leader: z.boolean().default(false) })).default({}),
})

/** An entry that Juju could not read has only an error. */
const Unreadable = z.object({ 'status-error': z.string() })

const Status = z.object({
  model: z.object({
    name: z.string(),
    type: z.string().optional(),
    controller: z.string().default(''),
    version: z.string().default(''),
  }),
  applications: z.record(z.string(), z.union([Unreadable, Application])),
  'application-endpoints': z
    .record(
      z.string(),
      z.union([
        Unreadable,
        z.object({
          url: z.string(),
          endpoints: Endpoints.default({}),
          relations: z.record(z.string(), z.array(z.string())).default({}),
        }),
      ]),
    )
    .default({}),
  offers: z
    .record(z.string(), z.union([Unreadable, z.object({ application: z.string(), endpoints: Endpoints.default({}) })]))
    .default({}),
})

const Databag = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((data) => data ?? {})

const OfUnit = z.object({ data: Databag })

const RelationInfo = z.object({
  'relation-id': z.int().nonnegative().optional(),
  endpoint: z.string(),
  'related-endpoint': z.string(),
  'cross-model': z.boolean().default(false),
  'application-data': Databag,
  'local-unit': OfUnit.default({ data: {} }),
  'related-units': z.record(z.string(), OfUnit).default({}),
})

const UNIT = /^[a-z][-a-z0-9]*\/\d+$/

const Units = z.record(z.string().regex(UNIT), z.object({ 'relation-info': z.array(RelationInfo).default([]) }))

const Offers = z.record(
  z.string(),
  z.object({
    'offer-url': z.string(),
    connections: z
      .array(z.object({ 'source-model-uuid': z.string(), 'relation-id': z.int(), endpoint: z.string() }))
      .default([]),
  }),
)

const Shown = z.record(
  z.string(),
  z.object({ name: z.string(), 'model-uuid': z.string(), 'controller-name': z.string() }),
)

const Models = z.object({ models: z.array(z.object({ name: z.string(), 'model-uuid': z.string() })) })

export type Status = z.infer<typeof Status>
export type Application = z.infer<typeof Application>
export type RelationInfo = z.infer<typeof RelationInfo>

/** A row of the table of relations: its sides, each `application:endpoint`. `status` is empty for an established relation. */
export type Row = {
  readonly provider: string
  readonly requirer: string
  readonly interface: string
  readonly status: string
}

/** A consumer of an offer: the relation that it has in the model of the offer, and the name of its own model. */
export type Connection = { readonly id: number; readonly model: string }

/** A model: its status, and the given units, rows and connections of its offers. */
export type Model = {
  readonly name: string
  /** As `juju --model` takes it: `controller:owner/name`. It is known where Juju was asked for it. */
  readonly address?: string | undefined
  readonly uuid?: string | undefined
  readonly status: Status
  readonly units: Map<string, readonly RelationInfo[]>
  readonly rows: Row[]
  readonly connections: Connection[]
}

type Part = { readonly status: Status } | { readonly units: z.infer<typeof Units> } | { readonly rows: Row[] }

/**
 * Reads the output of Juju: `juju status --format json`, `juju show-unit --format json` and the table of `juju status --relations`. Units and tables
 * belong to the preceding status, else to the first one. Throws Failure for other input.
 */
export const readModels = (inputs: readonly File[]): Model[] => {
  const parts = inputs.flatMap(partsOf)
  const models: Model[] = []
  const early: Part[] = []
  for (const part of parts) {
    const model = models.at(-1)
    if ('status' in part) models.push(modelOf(part.status))
    else if (model === undefined) early.push(part)
    else add(model, part)
  }
  const [first] = models
  if (first === undefined) throw new Failure('no output of juju status --format json was given')
  for (const part of early) add(first, part)
  return models
}

const modelOf = (status: Status): Model => ({
  name: status.model.name,
  status,
  units: new Map(),
  rows: [],
  connections: [],
})

const add = ({ units, rows }: Model, part: Part): void => {
  if ('rows' in part) rows.push(...part.rows)
  if ('units' in part) for (const [name, unit] of Object.entries(part.units)) units.set(name, unit['relation-info'])
}

/** Reads a status alone. Throws Failure for other input. */
export const readStatus = ({ path, text }: File): Model => {
  const [part] = partsIn(path, parseJson(text))
  if (part !== undefined && 'status' in part) return modelOf(part.status)
  throw new Failure(`${path}: ${EXPECTED}`)
}

/** Reads which model it is, by `juju show-model --format json`: others may have the same name. Throws Failure for other input. */
export const readWhich = ({ path, text }: File): Pick<Model, 'address' | 'uuid'> => {
  const [shown] = Object.values(checked(path, Shown, parseJson(text)))
  if (shown === undefined) throw new Failure(`${path}: it shows no model`)
  const { name, 'model-uuid': uuid, 'controller-name': controller } = shown
  return { uuid, address: name.includes('/') ? addressOn(controller, name) : undefined }
}

/** Names a model of a controller as `juju --model` takes it. */
export const addressOn = (controller: string, model: string): string =>
  [controller, model].filter((part) => part !== '').join(':')

/** Adds the units that a text has to the model. Throws Failure for other input. */
export const addUnits = (model: Model, { path, text }: File): void => {
  const [part] = partsIn(path, parseJson(text))
  if (part === undefined || !('units' in part)) throw new Failure(`${path}: ${EXPECTED}`)
  add(model, part)
}

/** Adds the rows of a table of relations to the model. A table without relations has none. */
export const addTable = ({ rows }: Model, text: string): void => {
  rows.push(...(rowsIn(text.split('\n')) ?? []))
}

/** Reads the connections in `juju offers --format json`, and names their models by `juju models --format json`. Throws Failure for other input. */
export const readConnections = (offers: File, models: File): Connection[] => {
  const known = checked(models.path, Models, parseJson(models.text)).models
  return Object.values(checked(offers.path, Offers, parseJson(offers.text))).flatMap(({ connections }) =>
    connections.flatMap(({ 'source-model-uuid': uuid, 'relation-id': id }) =>
      known.filter((one) => one['model-uuid'] === uuid).map(({ name }) => ({ id, model: name })),
    ),
  )
}

const EXPECTED = 'expected what juju status and juju show-unit print with --format json or yaml'

/** Parses a text: one JSON value, or outputs behind each other. Each is one JSON value on its line, YAML, or a table. */
const partsOf = ({ path, text }: File): Part[] => {
  const whole = parseJson(text)
  if (whole !== undefined) return partsIn(path, whole)
  const parts = outputsIn(text).flatMap(({ form, lines, before }): Part[] => {
    if (form === 'json') return partsIn(path, parseJson(lines.join('\n')))
    // as many lines come before, so that the place of a problem is that in the file
    const own = documentsOf([{ path, text: `${'\n'.repeat(before)}${lines.join('\n')}` }])
    if (form === 'yaml') return valuesIn(own).flatMap((value) => (value === null ? [] : partsIn(path, value)))
    const rows = rowsIn(lines)
    return rows === undefined ? [] : [{ rows }]
  })
  if (parts.length === 0) throw new Failure(`${path}: ${EXPECTED}`)
  return parts
}

type Output = { readonly form: 'json' | 'yaml' | 'table'; readonly lines: string[]; readonly before: number }

/** The first line of each output. */
const BEGINNINGS: readonly (readonly [RegExp, Output['form']])[] = [
  [/^\{/, 'json'],
  [/^(---|[-\w/]+:)\s*$/, 'yaml'],
  [/^(Model|Integration provider|Relation provider)\s/, 'table'],
]

const outputsIn = (text: string): Output[] => {
  const outputs: Output[] = []
  for (const [before, line] of text.split('\n').entries()) {
    const form = BEGINNINGS.find(([beginning]) => beginning.test(line))?.[1]
    const last = outputs.at(-1)
    if (form !== undefined && (form !== last?.form || /^(\{|---|model:)/.test(line)))
      outputs.push({ form, lines: [line], before })
    else last?.lines.push(line)
  }
  return outputs
}

/** Reads a status, or units, or both. */
const partsIn = (path: string, value: unknown): Part[] => {
  const all = isRecord(value) ? Object.entries(value) : []
  const units = all.filter(([name]) => UNIT.test(name))
  const isStatus = isRecord(value) && 'applications' in value
  if (!isStatus && (units.length === 0 || units.length < all.length)) throw new Failure(`${path}: ${EXPECTED}`)
  return [
    ...(isStatus ? [{ status: checked(path, Status, value) }] : []),
    ...(units.length > 0 ? [{ units: checked(path, Units, Object.fromEntries(units)) }] : []),
  ]
}

const checked = <T>(path: string, schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new Failure(`${path}: ${describeIssues(result.error)}`)
}

/** Reads the table of relations, the only output in which Juju names the provider. Returns undefined if there is none. */
const rowsIn = (lines: readonly string[]): Row[] | undefined => {
  const start = lines.findIndex((line) => /^(Integration|Relation) provider\s+Requirer\s+Interface/.test(line))
  if (start < 0) return undefined
  const rows = lines.slice(start + 1).map((line) => line.trim().split(/\s+/))
  const end = rows.findIndex((row) => row.length < 4)
  return rows
    .slice(0, end < 0 ? undefined : end)
    .map(([provider = '', requirer = '', name = '', _type, status = '']) => ({
      provider,
      requirer,
      interface: name,
      status,
    }))
}
