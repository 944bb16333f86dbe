import * as z from 'zod'
import { pythonJson } from '../../../platform/base/python-json.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Databag, RelationEntry } from '../../state/relation.ts'
import { type DatabagValue, readValue } from './databag.ts'

/** The identity of an application in another model. It does not depend on the local alias. */
export type CrossModelIdentity = { readonly namespace: string; readonly application: string }

const NAME = 'expected a string that is not empty'

const CrossModelData = z
  .object({ app_name: z.string(NAME).min(1, NAME), juju_model_name: z.string(NAME).min(1, NAME) })
  .transform((data): CrossModelIdentity => ({ namespace: data.juju_model_name, application: data.app_name }))

/** Reads `cmr_data` of an application databag: the identity of a requirer of `cross_model_mesh`. */
export const readCrossModelIdentity = (databag: Databag): DatabagValue<CrossModelIdentity> =>
  readValue(databag, 'cmr_data', CrossModelData)

/**
 * Tells if a relation gives an application of another namespace a local name, as only the own platform does. The name is that of the peer itself if it
 * says so: that it is in this namespace, under this name.
 */
export const isOfAlias = (
  { namespace }: Subject,
  { interface: name, status, told, remote: { application, namespace: elsewhere, data = {} } }: RelationEntry,
): boolean => {
  if (name !== 'cross_model_mesh' || status !== 'established' || !told || elsewhere !== undefined) return false
  const said = readCrossModelIdentity(data)
  const identity = 'unreadable' in said ? undefined : said.value
  return identity?.namespace !== namespace || identity.application !== application
}

/** Encodes `cmr_data` byte for byte as the charm library does. */
export const crossModelDatabag = ({ namespace, application }: CrossModelIdentity): string =>
  pythonJson({ app_name: application, juju_model_name: namespace })
