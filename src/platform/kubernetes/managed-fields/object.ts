import type { JsonMap } from '../../base/json.ts'

export type ObjectMeta = JsonMap & {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: { [key: string]: string }
  annotations?: { [key: string]: string }
}

/** An object as the API server stores it. Stored objects are never changed in place. */
export type StoredObject = JsonMap & { apiVersion: string; kind: string; metadata: ObjectMeta }
