import { type JsonMap, mapOf } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import type { Owner, Writer } from '../../platform/kubernetes/managed-fields/owners.ts'
import type { Kind } from '../kinds/kind.ts'
import { invalid } from '../kinds/status.ts'
import { metadataErrors } from '../validate/metadata.ts'
import { objectErrors } from '../validate/objects.ts'
import type { Store } from './store.ts'

/** The cluster that a write is for. */
export type World = { readonly store: Store; readonly now: () => string; readonly uid: () => string }

export type Write = {
  readonly kind: Kind
  readonly writer: Writer
  readonly dryRun: boolean
  /** The ownership after a server-side apply; without it, the write is an update by the writer. */
  readonly owners?: readonly Owner[]
}

/** Refuses an invalid object; `previous` is the one it replaces. */
export const refuseInvalid = (kind: Kind, object: JsonMap, previous: StoredObject | undefined): void => {
  const metadata = mapOf(object.metadata)
  const errors = [...metadataErrors(kind, metadata, previous?.metadata), ...objectErrors(kind, object, previous)]
  if (errors.length > 0) throw invalid(kind, String(metadata.name ?? ''), errors)
}
