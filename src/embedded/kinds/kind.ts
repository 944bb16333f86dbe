import type { JsonMap } from '../../platform/base/json.ts'
import type { Shape } from '../../platform/kubernetes/managed-fields/shape.ts'
import { modelShape } from './models.ts'
import { customShape, type OpenApi } from './open-api.ts'

/** Everything the server needs to know to serve one kind. */
export type Kind = {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** Defined by a CustomResourceDefinition: other media types, other wording, no defaults of its own. */
  readonly custom: boolean
  /** Has a status subresource, so status is not written through the object itself. */
  readonly status: boolean
  /** Changes of all fields but metadata and status increment metadata.generation. */
  readonly counted: boolean
  readonly names: 'subdomain' | 'label' | 'label-1035'
  readonly shape: Shape
  /** The schema of a custom resource, for its validation. */
  readonly schema?: OpenApi
  /** The fields of an empty object of this kind. A client that first fills them does not own them. */
  readonly zero: JsonMap
}

type Entry = Pick<Kind, 'kind'> & Partial<Kind>

/** The model of a kind, as the official client calls it: `V1Pod`. */
const modelOf = (group: string, kind: string, version: string): string => {
  if (kind === 'Event') return group === '' ? 'CoreV1Event' : 'EventsV1Event'
  return `${version.toUpperCase()}${kind}`
}

/** A kind of the API server itself, with what most of them have in common. */
export const builtin = (group: string, version: string, entry: Entry): Kind => ({
  group,
  version,
  plural: `${entry.kind.toLowerCase().replace(/y$/, 'ie')}s`,
  shortNames: [],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  counted: false,
  names: 'subdomain',
  shape: entry.shape ?? modelShape(modelOf(group, entry.kind, version)),
  zero: {},
  ...entry,
})

/** A kind that a CustomResourceDefinition defines. */
export const custom = (group: string, version: string, entry: Entry & { schema: OpenApi }): Kind => ({
  ...builtin(group, version, { shape: customShape(entry.schema), ...entry }),
  custom: true,
  status: true,
  counted: true,
})

/** `v1`, `apps/v1`. */
export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

/** Tells if the kind has the subresource `scale`, which sets its replicas. */
export const isScalable = ({ kind }: Pick<Kind, 'kind'>): boolean => kind === 'Deployment' || kind === 'StatefulSet'
