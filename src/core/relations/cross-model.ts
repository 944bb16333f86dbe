import * as z from 'zod'
import { pythonJson } from '../../platform/base/python-json.ts'
import type { Databag } from '../state/relation.ts'
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

/** Encodes `cmr_data` byte for byte as the charm library does. */
export const crossModelDatabag = ({ namespace, application }: CrossModelIdentity): string =>
  pythonJson({ app_name: application, juju_model_name: namespace })
