import { isIP } from 'node:net'
import { at, type Json, type JsonMap, listOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { containers, initContainers } from './containers.ts'
import { duplicate, forbiddenField, invalidValue, labelErrors, required, unsupported } from './errors.ts'
import { formatted, holds, items, members, needed, oneOf, optional, type PodRule, type Rule } from './rules.ts'
import { affinity, spread, tolerations } from './scheduling.ts'
import { resourceClaims, volumes } from './volumes.ts'

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

const hostAliases: Rule = items(({ ip = '', hostnames }, field) => [
  ...holds(() => isIP(String(ip)) > 0, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')(
    ip,
    `${field}.ip`,
  ),
  ...listOf(hostnames).flatMap((name, index) => formatted('subdomain')(name, `${field}.hostnames[${index}]`)),
])

/** Containers that are processes of a Windows host are all of their pod's, on the network of the host. */
const hostNetwork: PodRule = (value, field, spec) => {
  const processOf = (part: Json) => at(part, 'securityContext', 'windowsOptions', 'hostProcess')
  const all = [...listOf(spec.initContainers), ...listOf(spec.containers)]
  const count = all.filter((container) => (processOf(container) ?? processOf(spec)) === true).length
  const why = 'If pod contains any hostProcess containers then all containers must be HostProcess containers'
  const outside = 'hostNetwork must be true if pod contains any hostProcess containers'
  if (count === 0) return []
  return [
    ...(count < all.length ? [invalidValue(field.replace(/\.hostNetwork$/, ''), '', why)] : []),
    ...holds(() => value === true, outside)(value ?? false, field),
  ]
}

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
  volumes,
  resourceClaims,
  containers,
  initContainers,
  restartPolicy: (value, field, spec) => [
    ...hostNetworkErrors(spec, field.replace(/\.restartPolicy$/, '')),
    ...oneOf('Always', 'OnFailure', 'Never')(value, field),
  ],
  dnsPolicy: oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'),
  nodeSelector: labelErrors,
  securityContext: members({ sysctls }),
  affinity,
  dnsConfig: dnsErrors,
  topologySpreadConstraints: spread,
  hostNetwork,
  serviceAccountName: subdomain,
  nodeName: subdomain,
  activeDeadlineSeconds: optional(
    holds((seconds) => Number(seconds) >= 1, 'must be between 1 and 2147483647, inclusive'),
  ),
  hostname: label,
  subdomain: label,
  tolerations,
  hostAliases,
  priorityClassName: subdomain,
  runtimeClassName: subdomain,
  os: systemErrors,
})

/** The errors of a pod's spec. */
export const podSpecErrors = (spec: JsonMap, field: string): FieldError[] => rules(spec, field, spec)
