import { at, equal, type Json, type JsonMap, listOf, mapOf, withAt } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { containers, initContainers } from './containers.ts'
import { duplicate, forbiddenField, invalidValue, labelErrors, required, unsupported } from './errors.ts'
import {
  type Check,
  formatted,
  holds,
  items,
  members,
  needed,
  oneOf,
  optional,
  type PodRule,
  type Rule,
} from './rules.ts'
import { volumes } from './volumes.ts'

/** On the network of the host, a container's port is the host's. */
const hostNetworkErrors = (spec: JsonMap, field: string): FieldError[] => {
  if (spec.hostNetwork !== true) return []
  const why = 'must match `containerPort` when `hostNetwork` is true'
  return items((container, place) =>
    items((port, path) =>
      port.hostPort === undefined || port.hostPort === port.containerPort
        ? []
        : [invalidValue(`${path}.hostPort`, port.hostPort, why)],
    )(container.ports, `${place}.ports`),
  )(spec.containers, `${field}.containers`)
}

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const sysctlName = `(${segment}[\\./])*${segment}`
const isSysctl = new RegExp(`^${sysctlName}$`)

const sysctls: Rule = items((item, field, before) => {
  const name = String(item.name)
  const plain = (text: Json | undefined) => String(text).replaceAll('/', '.')
  const wrong = holds(
    () => name.length <= 253 && isSysctl.test(name),
    `must have at most 253 characters and match regex ${sysctlName}`,
  )
  return [
    ...needed(wrong)(item.name, `${field}.name`),
    ...(before.some((other) => plain(other.name) === plain(name)) ? [duplicate(`${field}.name`, name)] : []),
  ]
})

const dnsErrors: PodRule = (value, field, { dnsPolicy }) => {
  if (dnsPolicy !== 'None') return []
  if (value === undefined) return [required(field, 'must provide `dnsConfig` when `dnsPolicy` is None')]
  const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
  return listOf(at(value, 'nameservers')).length === 0 ? [required(`${field}.nameservers`, why)] : []
}

const spread = members({
  maxSkew: holds((value) => Number(value ?? 0) > 0, 'must be greater than zero'),
  topologyKey: needed(),
  whenUnsatisfiable: oneOf('DoNotSchedule', 'ScheduleAnyway'),
})

const systems = ['linux', 'windows']

const podOnLinux = [
  ...['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'fsGroup', 'fsGroupChangePolicy', 'sysctls', 'runAsUser'],
  ...['runAsGroup', 'supplementalGroups', 'supplementalGroupsPolicy', 'seLinuxChangePolicy'],
]
const onLinux = [
  ...['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'capabilities', 'readOnlyRootFilesystem', 'privileged'],
  ...['allowPrivilegeEscalation', 'procMount', 'runAsUser', 'runAsGroup'],
]
const hostOnLinux = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace']

/** A pod of one system has no field of the other. */
const systemErrors: PodRule = optional((value, field, spec) => {
  const name = at(value, 'name')
  if (!systems.includes(String(name))) return [unsupported(`${field}.name`, name, systems)]
  const isWindows = name === 'windows'
  const why = isWindows ? 'cannot be set for a windows pod' : 'windows options cannot be set for a linux pod'
  const top = field.replace(/\.os$/, '')
  const set = (map: Json | undefined, path: string, names: readonly string[]): FieldError[] =>
    names.filter((key) => at(map, key) !== undefined).map((key) => forbiddenField(`${path}.${key}`, why))
  const context = (map: JsonMap, path: string, names: readonly string[]): FieldError[] =>
    set(map.securityContext, `${path}.securityContext`, isWindows ? names : ['windowsOptions'])
  return [
    ...context(spec, top, podOnLinux),
    ...(isWindows ? set(spec, top, hostOnLinux) : []),
    ...['initContainers', 'containers'].flatMap((key) =>
      items((item, place) => context(item, place, onLinux))(spec[key], `${top}.${key}`),
    ),
  ]
})

const subdomain = optional(formatted('subdomain'))
const label = optional(formatted('label'))

const rules = members<[JsonMap]>({
  volumes: volumes,
  containers,
  initContainers,
  restartPolicy: (value, field, spec) => [
    ...hostNetworkErrors(spec, field.replace(/\.restartPolicy$/, '')),
    ...oneOf('Always', 'OnFailure', 'Never')(value, field),
  ],
  dnsPolicy: oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'),
  nodeSelector: labelErrors,
  securityContext: members({ sysctls }),
  dnsConfig: dnsErrors,
  topologySpreadConstraints: items(spread),
  serviceAccountName: subdomain,
  nodeName: subdomain,
  activeDeadlineSeconds: optional(
    holds((seconds) => Number(seconds) >= 1, 'must be between 1 and 2147483647, inclusive'),
  ),
  hostname: label,
  subdomain: label,
  tolerations: items((item, field) => oneOf('Equal', 'Exists')(item.operator, `${field}.operator`)),
  priorityClassName: subdomain,
  runtimeClassName: subdomain,
  os: systemErrors,
})

/** The errors of a pod's spec. */
export const podSpecErrors = (spec: JsonMap, field: string): FieldError[] => rules(spec, field, spec)

const podMutable = [
  ...['containers', 'initContainers', 'tolerations', 'activeDeadlineSeconds', 'terminationGracePeriodSeconds'],
]

export const podErrors: Check = (object, previous) => {
  const fixed = (pod: JsonMap): JsonMap =>
    podMutable.reduce((spec, key) => withAt(spec, [key], undefined), mapOf(pod.spec))
  const why =
    'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'
  return [
    ...podSpecErrors(mapOf(object.spec), 'spec'),
    ...(previous === undefined && at(object.spec, 'ephemeralContainers') !== undefined
      ? [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')]
      : []),
    ...(previous === undefined || equal(fixed(object), fixed(previous)) ? [] : [forbiddenField('spec', why)]),
  ]
}
