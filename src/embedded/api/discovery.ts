import type { JsonMap } from '../../platform/base/json.ts'
import { apiVersionOf, isScalable, type Kind } from '../kinds/kind.ts'
import { kinds } from '../kinds/kinds.ts'
import { reviews } from './reviews.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const statusVerbs = ['get', 'patch', 'update']

const served = (kind: Kind): JsonMap[] => {
  const { plural: name, namespaced, kind: named, shortNames, categories } = kind
  const extra = {
    ...(shortNames.length ? { shortNames: [...shortNames] } : {}),
    ...(categories.length ? { categories: [...categories] } : {}),
  }
  // Namespaces are deleted one by one
  const own = named === 'Namespace' ? verbs.filter((verb) => verb !== 'deletecollection') : verbs
  const main = { name, singularName: named.toLowerCase(), namespaced, kind: named, verbs: own, ...extra }
  const status = { name: `${name}/status`, singularName: '', namespaced, kind: named, verbs: statusVerbs }
  const scale = {
    name: `${name}/scale`,
    singularName: '',
    namespaced,
    group: 'autoscaling',
    version: 'v1',
    kind: 'Scale',
    verbs: statusVerbs,
  }
  return [main, ...(isScalable(kind) ? [scale] : []), ...(kind.status ? [status] : [])]
}

const reviewed = reviews.map(({ kind: { kind, plural: name, group, version } }) => {
  const resource: JsonMap = { name, singularName: kind.toLowerCase(), namespaced: false, kind, verbs: ['create'] }
  return { apiVersion: `${group}/${version}`, resource }
})

const apiVersions = [...new Set([...kinds.map(apiVersionOf), ...reviewed.map(({ apiVersion }) => apiVersion)])]

const resourceList = (groupVersion: string): JsonMap => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion,
  resources: [
    ...kinds.filter((kind) => apiVersionOf(kind) === groupVersion).flatMap(served),
    ...reviewed.filter(({ apiVersion }) => apiVersion === groupVersion).map(({ resource }) => resource),
  ],
})

const groupOf = (groupVersion: string): JsonMap => {
  const [name = '', version = ''] = groupVersion.split('/')
  const only = { groupVersion, version }
  return { name, versions: [only], preferredVersion: only }
}

const groups = apiVersions.filter((apiVersion) => apiVersion.includes('/'))

const version: JsonMap = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'embedded',
}

/** The discovery documents, by path. See https://kubernetes.io/docs/reference/using-api/api-concepts/#discovery-api */
export const discovery: ReadonlyMap<string, JsonMap> = new Map<string, JsonMap>([
  ['/version', version],
  ['/api', { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }],
  ['/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) }],
  ...groups.map((each): [string, JsonMap] => [
    `/apis/${each.split('/')[0]}`,
    { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(each) },
  ]),
  ...groups.map((each): [string, JsonMap] => [`/apis/${each}`, resourceList(each)]),
  ['/api/v1', resourceList('v1')],
])
