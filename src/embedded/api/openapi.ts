import type { JsonMap } from '../../platform/base/json.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { kinds } from '../kinds/kinds.ts'

const root = (apiVersion: string): string => (apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`)

const queryParameter = (name: string): JsonMap => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } })

const operation = ({ group, version, kind }: Kind, action: string): JsonMap => ({
  parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map(queryParameter),
  responses: { 200: { description: 'OK' } },
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': { group, version, kind },
})

const pathsOf = (kind: Kind): [string, JsonMap][] => {
  const scope = kind.namespaced ? '/namespaces/{namespace}' : ''
  const collection = `/${root(apiVersionOf(kind))}${scope}/${kind.plural}`
  return [
    [collection, { post: operation(kind, 'post') }],
    [`${collection}/{name}`, { put: operation(kind, 'put'), patch: operation(kind, 'patch') }],
  ]
}

const documentOf = (apiVersion: string): JsonMap => ({
  openapi: '3.0.0',
  info: { title: 'Kubernetes', version: 'v1.36.0' },
  paths: Object.fromEntries(kinds.filter((kind) => apiVersionOf(kind) === apiVersion).flatMap(pathsOf)),
})

const apiVersions = [...new Set(kinds.map(apiVersionOf))]

/** The part of OpenAPI v2 that kubectl needs to take a `kind: List`, which it validates itself: it has no schemas. */
const openapiV2: JsonMap = { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1.36.0' }, paths: {} }

/**
 * The part of OpenAPI v3 that makes kubectl leave validation to the server: the operations, and that they take `fieldValidation`. It has
 * no schemas.
 */
export const openapi: ReadonlyMap<string, JsonMap> = new Map<string, JsonMap>([
  ['/openapi/v2', openapiV2],
  [
    '/openapi/v3',
    {
      paths: Object.fromEntries(
        apiVersions.map((each) => [root(each), { serverRelativeURL: `/openapi/v3/${root(each)}` }]),
      ),
    },
  ],
  ...apiVersions.map((each): [string, JsonMap] => [`/openapi/v3/${root(each)}`, documentOf(each)]),
])

/** OpenAPI v2 as a message of protocol buffers: its first field, the version of Swagger. */
export const openapiV2Message = '\n\u00032.0'
