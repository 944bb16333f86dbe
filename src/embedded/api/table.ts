import { at, type Json, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import type { Kind } from '../kinds/kind.ts'

/** A column of kubectl's tables: `wide` ones come with `-o wide`. */
type Column = { readonly name: string; readonly wide?: true; readonly of: (object: JsonMap) => Json }

const count = (value: Json | undefined): number => Number(value ?? 0)
const joined = (values: readonly (Json | undefined)[]): string => values.join(',') || '<none>'
const pairs = (map: Json | undefined): string =>
  joined(Object.entries(mapOf(map)).map(([key, value]) => `${key}=${value}`))

const name: Column = { name: 'Name', of: ({ metadata }) => at(metadata, 'name') ?? '' }

const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

const age: Column = {
  name: 'Age',
  of: ({ metadata }) => {
    const created = Date.parse(String(at(metadata, 'creationTimestamp')))
    const seconds = Math.max(0, Math.floor((Date.now() - created) / 1000))
    const [size, letter] = units.find(([each]) => seconds >= 2 * each) ?? [1, 's']
    return `${Math.floor(seconds / size)}${letter}`
  },
}

const containersOf = (object: JsonMap): Json[] =>
  listOf(at(object, 'spec', 'template', 'spec', 'containers') ?? at(object, 'spec', 'containers'))

const ofContainers = (title: string, key: string): Column => ({
  name: title,
  wide: true,
  of: (object) => joined(containersOf(object).map((each) => at(each, key))),
})
const containers = ofContainers('Containers', 'name')
const images = ofContainers('Images', 'image')

const ready: Column = {
  name: 'Ready',
  of: ({ spec, status }) => `${count(at(status, 'readyReplicas'))}/${count(at(spec, 'replicas'))}`,
}

const status = (title: string, key: string): Column => ({ name: title, of: (object) => count(at(object.status, key)) })

/** A pod's phase, or the reason for its failure. */
const podStatus = ({ metadata, status }: JsonMap): string => {
  if (at(metadata, 'deletionTimestamp') !== undefined) return 'Terminating'
  const waiting = listOf(at(status, 'containerStatuses')).map((each) => at(each, 'state', 'waiting', 'reason'))
  return String(at(status, 'reason') ?? waiting.find((reason) => reason !== undefined) ?? at(status, 'phase') ?? '')
}

const podReady = ({ spec, status }: JsonMap): string => {
  const up = listOf(at(status, 'containerStatuses')).filter((each) => at(each, 'ready') === true)
  return `${up.length}/${listOf(at(spec, 'containers')).length}`
}

const restarts = ({ status }: JsonMap): number =>
  listOf(at(status, 'containerStatuses')).reduce((sum: number, each) => sum + count(at(each, 'restartCount')), 0)

const servicePorts = ({ spec }: JsonMap): string =>
  joined(listOf(at(spec, 'ports')).map((port) => `${at(port, 'port')}/${at(port, 'protocol')}`))

const field = (title: string, path: readonly string[], wide?: true): Column => ({
  name: title,
  ...(wide && { wide }),
  of: (object) => at(object, ...path) ?? '<none>',
})

const entries: Column = { name: 'Data', of: ({ data }) => Object.keys(mapOf(data)).length }

const columns: Readonly<Record<string, readonly Column[]>> = {
  ConfigMap: [entries],
  Secret: [field('Type', ['type']), entries],
  Namespace: [field('Status', ['status', 'phase'])],
  Pod: [
    { name: 'Ready', of: podReady },
    { name: 'Status', of: podStatus },
    { name: 'Restarts', of: restarts },
  ],
  Service: [
    field('Type', ['spec', 'type']),
    field('Cluster-IP', ['spec', 'clusterIP']),
    { name: 'Port(s)', of: servicePorts },
  ],
  Deployment: [ready, status('Up-to-date', 'updatedReplicas'), status('Available', 'availableReplicas')],
  StatefulSet: [ready],
  AuthorizationPolicy: [field('Action', ['spec', 'action'])],
  Gateway: [field('Class', ['spec', 'gatewayClassName'])],
}

const selector: Column = {
  name: 'Selector',
  wide: true,
  of: ({ spec }) => pairs(at(spec, 'selector', 'matchLabels') ?? at(spec, 'selector')),
}

const wide: Readonly<Record<string, readonly Column[]>> = {
  Pod: [field('IP', ['status', 'podIP'], true), field('Node', ['spec', 'nodeName'], true)],
  Service: [selector],
  Deployment: [containers, images, selector],
  StatefulSet: [containers, images],
}

const columnsOf = ({ kind }: Kind): readonly Column[] => [name, ...(columns[kind] ?? []), age, ...(wide[kind] ?? [])]

/** The client asks for a table to print rather than for objects. */
export const asksForTable = (accept = ''): boolean => /(^|,)application\/json;[^,]*\bas=Table\b/.test(accept)

const rowOf = (object: JsonMap, all: readonly Column[]): JsonMap => {
  const { apiVersion: _, kind: __, metadata } = object
  return {
    cells: all.map((column) => column.of(object)),
    object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
  }
}

/**
 * An object or a list as kubectl prints it. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
export const tableOf = (kind: Kind, object: JsonMap): JsonMap => {
  const all = columnsOf(kind)
  const objects = Array.isArray(object.items) ? object.items.map(mapOf) : [object]
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: at(object.metadata, 'resourceVersion') ?? '' },
    columnDefinitions: all.map(({ name, wide }) => ({
      name,
      type: 'string',
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: wide ? 1 : 0,
    })),
    rows: objects.map((each) => rowOf(each, all)),
  }
}
