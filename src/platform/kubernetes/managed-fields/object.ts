import type { JsonMap } from '../../base/json.ts'
import type { KubernetesObject, Metadata } from '../objects.ts'

type Named = 'name' | 'namespace' | 'uid' | 'resourceVersion'
type Dated = 'generation' | 'creationTimestamp' | 'deletionTimestamp'

export type ObjectMeta = JsonMap & Pick<Metadata, Named | Dated | 'labels' | 'annotations'>

/** An object as the API server stores it. Stored objects are never changed in place. */
export type StoredObject = JsonMap & Pick<KubernetesObject, 'apiVersion' | 'kind'> & { metadata: ObjectMeta }
