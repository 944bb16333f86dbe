import * as z from 'zod'
import { pythonJson } from '../base/python-json.ts'
import type { Databag } from '../state/relation.ts'
import { type DatabagValue, readValue } from './databag.ts'

/** What an application of another model is really called: there its identity is, whatever alias it has here. */
export type CrossModelIdentity = { readonly namespace: string; readonly application: string }

const NAME = 'expected a string that is not empty'

const CrossModelData = z
  .object({ app_name: z.string(NAME).min(1, NAME), juju_model_name: z.string(NAME).min(1, NAME) })
  .transform((data): CrossModelIdentity => ({ namespace: data.juju_model_name, application: data.app_name }))

/** What the requirer of `cross_model_mesh` tells about itself: the key `cmr_data` of its application databag. */
export const readCrossModelIdentity = (databag: Databag): DatabagValue<CrossModelIdentity> =>
  readValue(databag, 'cmr_data', CrossModelData)

/** The value of `cmr_data`, byte for byte as the charm library writes it. */
export const crossModelDatabag = ({ namespace, application }: CrossModelIdentity): string =>
  pythonJson({ app_name: application, juju_model_name: namespace })
