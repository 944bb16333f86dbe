import type { RelationIdentity } from '../../core/state/relation.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Application, Model, RelationInfo, Row } from './parse-output.ts'

/** One side of a relation, as one of its units reports it. `remote` is the local name of the peer. */
export type Side = { readonly application: string; readonly info: RelationInfo; readonly remote: string | undefined }

/** Juju keeps a model in the namespace of its name, and its own model in one that is named after the controller. */
export const namespaceOf = ({ name, status }: Model): string =>
  name === 'controller' ? `controller-${status.model.controller}` : name

/** Since Juju 4 the data of an application that a unit reports are those of its own side, and before those of its peer. */
export const reportsOwnData = ({ status }: Model): boolean => Number.parseInt(status.model.version, 10) >= 4

/** Machines are in no namespace. */
export const runsOnMachines = ({ status }: Model): boolean => status.model.type === 'iaas'

export const applicationOf = (unit: string): string => unit.split('/')[0] ?? unit

/** Finds an application that Juju could read. */
export const applicationNamed = ({ status }: Model, name: string): Application | undefined => {
  const found = ownValue(status.applications, name)
  return found === undefined || 'status-error' in found ? undefined : found
}

/** Finds the application of another model that this one calls by an alias, with the URL of its offer. */
export const saasNamed = ({ status }: Model, name: string) => {
  const found = ownValue(status['application-endpoints'], name)
  return found === undefined || 'status-error' in found ? undefined : found
}

/** Lists the offers that Juju could read. */
export const offersIn = ({ status }: Model) =>
  Object.entries(status.offers).flatMap(([name, offer]) => ('status-error' in offer ? [] : [{ name, ...offer }]))

/** Tells why an application has no part in the mesh of a cluster. */
export const reasonToLeaveOut = (application: Application): string | undefined => {
  if (application['subordinate-to'].length > 0) return 'is a subordinate, which Kubernetes has none of'
  return application.life === 'dying' || application.life === 'dead' ? `is ${application.life}` : undefined
}

export const isLeftOut = (model: Model, name: string): boolean => {
  const application = applicationNamed(model, name)
  return application !== undefined && reasonToLeaveOut(application) !== undefined
}

/** Groups the reported sides of relations by relation id, in the order of the ids. */
export const sidesById = (model: Model): Map<number, Side[]> => {
  const sides = new Map<number, Side[]>()
  for (const [unit, relations] of model.units)
    for (const info of relations) {
      const id = info['relation-id']
      const application = applicationOf(unit)
      const before = id === undefined ? [] : (sides.get(id) ?? [])
      if (id === undefined || before.some((one) => one.application === application)) continue
      sides.set(id, [...before, { application, info, remote: remoteOf(model, application, info) }])
    }
  return new Map([...sides].map(([id, both]) => [id, namingEachOther(both)] as const).toSorted(([a], [b]) => a - b))
}

/** Each side names the other if the other could not. */
const namingEachOther = (sides: readonly Side[]): Side[] =>
  sides.map((side, at) => ({ ...side, remote: sides[1 - at]?.application ?? side.remote }))

/** Names the peer by its units, else by the status if that has only one. */
const remoteOf = (model: Model, application: string, info: RelationInfo): string | undefined => {
  const [unit] = Object.keys(info['related-units'])
  if (unit !== undefined) return applicationOf(unit)
  const related = applicationNamed(model, application)?.relations[info.endpoint] ?? []
  const names = new Set(related.map((one) => one.application))
  return names.size === 1 ? [...names][0] : undefined
}

/** Finds the row of the relation in Juju's table. */
export const rowOf = ({ rows }: Model, { application, info, remote }: Side): Row | undefined => {
  const both = [`${application}:${info.endpoint}`, `${remote}:${info['related-endpoint']}`]
  return rows.find(({ provider, requirer }) => both.includes(provider) && both.includes(requirer))
}

/** Returns the role of a side, which only the table of relations says. */
export const roleOf = (model: Model, side: Side): RelationIdentity['role'] | undefined => {
  const row = rowOf(model, side)
  if (row === undefined) return undefined
  return row.provider === `${side.application}:${side.info.endpoint}` ? 'provides' : 'requires'
}

export const interfaceOf = (model: Model, side: Side): string | undefined =>
  applicationNamed(model, side.application)?.relations[side.info.endpoint]?.find(
    (one) => one.application === side.remote,
  )?.interface ?? rowOf(model, side)?.interface

/** Tells if an administrator has suspended the relation. Then the hooks of its end have run, and nothing may pass. */
export const isSuspended = (model: Model, side: Side): boolean =>
  ['suspended', 'suspending', 'broken'].includes(rowOf(model, side)?.status ?? '')

type Databag = Readonly<Record<string, unknown>>

/** Finds the data that the peer of a side publishes, as far as Juju shows them. */
export const dataOfPeer = (
  model: Model,
  id: number,
  { application, info }: Side,
): { readonly application: Databag; readonly units: Readonly<Record<string, { readonly data: Databag }>> } => {
  if (!reportsOwnData(model)) return { application: info['application-data'], units: info['related-units'] }
  const theirs = [...model.units].flatMap(([unit, infos]) => {
    const found = applicationOf(unit) === application ? undefined : infos.find((one) => one['relation-id'] === id)
    return found === undefined ? [] : [[unit, found] as const]
  })
  const own = Object.fromEntries(theirs.map(([unit, one]) => [unit, one['local-unit']]))
  return { application: theirs[0]?.[1]['application-data'] ?? {}, units: { ...own, ...info['related-units'] } }
}
