import { at, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import { amountOf, isWhole } from '../kinds/quantity.ts'
import type { FieldError } from '../kinds/status.ts'
import { resourceField, variableField } from './downward.ts'
import { duplicate, forbiddenField, invalidValue, notFound, required } from './errors.ts'
import { keyProblems } from './formats.ts'
import {
  formatted,
  holds,
  isMissing,
  items,
  members,
  namedPort,
  needed,
  nonNegative,
  oneOf,
  optional,
  type PodRule,
  portNumber,
  portNumberOrName,
  type Rule,
  unique,
} from './rules.ts'
import { claimNames, mounts } from './volumes.ts'

const isZero = (value: Json | undefined): boolean => value === undefined || value === 0

const ports: PodRule = items((item, field, before) => [
  ...namedPort(item.name, `${field}.name`, before),
  ...(isZero(item.containerPort)
    ? [required(`${field}.containerPort`)]
    : portNumber(item.containerPort, `${field}.containerPort`)),
  ...(isZero(item.hostPort) ? [] : portNumber(item.hostPort, `${field}.hostPort`)),
  ...oneOf('SCTP', 'TCP', 'UDP')(item.protocol, `${field}.protocol`),
])

const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

const source = members({
  fieldRef: optional(variableField),
  resourceFieldRef: optional(resourceField),
  configMapKeyRef: optional(members({ key: needed() })),
  secretKeyRef: optional(members({ key: needed() })),
})

const sourceErrors = ({ value, valueFrom }: JsonMap, field: string): FieldError[] => {
  if (valueFrom === undefined) return []
  const given = sources.filter((name) => at(valueFrom, name) !== undefined)
  const asked = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
  if (given.length === 0) return [invalidValue(field, '', asked)]
  if (!isMissing(value)) return [invalidValue(field, '', 'may not be specified when `value` is not empty')]
  const many = given.length > 1 ? [invalidValue(field, '', 'may not have more than one field specified at a time')] : []
  return [...source(valueFrom, field), ...many]
}

const variableName = holds(
  (value) => /^[ -<>-~]+$/.test(String(value)),
  "a valid environment variable name must consist only of printable ASCII characters other than '='",
)

const variables: PodRule = items((item, field) => [
  ...needed(variableName)(item.name, `${field}.name`),
  ...sourceErrors(item, `${field}.valueFrom`),
])

const bulkSources = ['configMapRef', 'secretRef']

const variableFiles: Rule = (value, field) =>
  // the API server leaves the index out
  items((item, place) => {
    const given = bulkSources.filter((name) => item[name] !== undefined)
    const none = given.length === 0 ? ['must specify one of: `configMapRef` or `secretRef`'] : []
    const many = given.length > 1 ? ['may not have more than one field specified at a time'] : []
    return [
      ...optional(variableName)(item.prefix, `${place}.prefix`),
      ...given.flatMap((name) => needed()(at(item, name, 'name'), `${place}.${name}.name`)),
      ...[...none, ...many].map((why) => invalidValue(field, '', why)),
    ]
  })(value, field)

const standardResources = ['cpu', 'memory', 'ephemeral-storage']

const resourceName: Rule = (value, field) => {
  const name = String(value)
  if (standardResources.includes(name) || name.startsWith('hugepages-')) return []
  const rest = ['must be a standard resource type or fully qualified', 'must be a standard resource for containers']
  const problems = [...keyProblems(name), ...(name.includes('/') ? [] : rest)]
  return problems.map((why) => invalidValue(field, value, why))
}

const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/')

/** Tells if a container gets no more and no less of a resource than its limit. */
const isExact = (name: string): boolean => !isNative(name) || name.startsWith('hugepages-')

const amounts: Rule = (value, field) =>
  Object.entries(mapOf(value)).flatMap(([name, amount]) => {
    const place = `${field}[${name}]`
    const negative = (amountOf(amount) ?? 0n) < 0n ? ['must be greater than or equal to 0'] : []
    const part = isNative(name) || isWhole(amount) ? [] : ['must be an integer']
    return [
      ...resourceName(name, place),
      ...[...negative, ...part].map((why) => invalidValue(place, String(amount), why)),
    ]
  })

const claimErrors: PodRule = (value, field, spec) => {
  const known = claimNames(spec).toSorted()
  const list = known.length === 0 ? ' which is empty' : `: ${known.join(', ')}`
  return items((item, place, before) => {
    if (isMissing(item.name)) return [required(place)]
    const missing = notFound(place, item.name, `must be one of the names in pod.spec.resourceClaims${list}`)
    return [
      ...(before.some(({ name }) => name === item.name) ? [duplicate(place, item.name)] : []),
      ...(known.includes(String(item.name)) ? [] : [missing]),
    ]
  })(value, field)
}

/** The errors of a request beside its limit. */
const requestErrors = (
  name: string,
  amount: Json | undefined,
  limit: Json | undefined,
  field: string,
): FieldError[] => {
  const exact = isExact(name)
  if (limit === undefined)
    return exact ? [required(`${field}.limits`, 'Limit must be set for non overcommitable resources')] : []
  const over = (amountOf(amount) ?? 0n) - (amountOf(limit) ?? 0n)
  const why = `must be ${exact ? 'equal to' : 'less than or equal to'} ${name} limit of ${String(limit)}`
  return over > 0n || (over < 0n && exact) ? [invalidValue(`${field}.requests`, String(amount), why)] : []
}

const resources: PodRule = (value, field, spec) => {
  const { limits, requests, claims } = mapOf(value)
  return [
    ...amounts(limits, `${field}.limits`),
    ...amounts(requests, `${field}.requests`),
    ...Object.entries(mapOf(requests)).flatMap(([name, amount]) =>
      requestErrors(name, amount, at(limits, name), field),
    ),
    ...claimErrors(claims, `${field}.claims`, spec),
  ]
}

const resizePolicy: PodRule = (value, field, { restartPolicy }) =>
  items((item, place, before): FieldError[] => [
    ...(before.some(({ resourceName: name }) => name === item.resourceName)
      ? [duplicate(place, item.resourceName)]
      : []),
    // the API server leaves the index out
    ...needed(oneOf('cpu', 'memory'))(item.resourceName, field),
    ...needed(oneOf('NotRequired', 'RestartContainer'))(item.restartPolicy, field),
    ...(restartPolicy === 'Never' && item.restartPolicy !== 'NotRequired'
      ? [invalidValue(field, item.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'")]
      : []),
  ])(value, field)

/** The fields of Go's SecurityContext, as errors print it. */
const securityFields = [
  ...['capabilities', 'privileged', 'seLinuxOptions', 'windowsOptions', 'runAsUser', 'runAsGroup', 'runAsNonRoot'],
  ...['readOnlyRootFilesystem', 'allowPrivilegeEscalation', 'procMount', 'seccompProfile', 'appArmorProfile'],
]

const goName = (field: string): string =>
  field === 'seLinuxOptions' ? 'SELinuxOptions' : field.replace(/^./, (first) => first.toUpperCase())

const securityContext: PodRule = optional((value, field) => {
  const { privileged, allowPrivilegeEscalation } = mapOf(value)
  if (privileged !== true || allowPrivilegeEscalation !== false) return []
  const printed = Object.fromEntries(securityFields.map((name) => [goName(name), at(value, name) ?? null]))
  const why = 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'
  return [{ field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(printed)}: ${why}` }]
})

/** The rules of all containers, whose pod's spec is the context. */
const common = members<[JsonMap]>({
  name: needed(formatted('label')),
  image: needed(),
  terminationMessagePolicy: oneOf('File', 'FallbackToLogsOnError'),
  ports,
  env: variables,
  envFrom: variableFiles,
  volumeMounts: mounts,
  imagePullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
  resources,
  resizePolicy,
  securityContext,
})

const restartErrors = ({ restartPolicy, restartPolicyRules: rules }: JsonMap, field: string): FieldError[] => {
  const place = `${field}.restartPolicy`
  if (restartPolicy !== undefined) return oneOf('Always', 'Never', 'OnFailure')(restartPolicy, place)
  return rules === undefined ? [] : [required(place, 'must specify restartPolicy when restart rules are used')]
}

const handlers: Readonly<Record<string, (chosen: JsonMap, field: string, spec: JsonMap) => FieldError[]>> = {
  exec: ({ command }, field) => (listOf(command).length === 0 ? [required(`${field}.command`)] : []),
  httpGet: ({ port, scheme }, field) => [
    ...portNumberOrName(port, `${field}.port`),
    ...oneOf('HTTP', 'HTTPS')(scheme, `${field}.scheme`),
  ],
  tcpSocket: ({ port }, field) => portNumberOrName(port, `${field}.port`),
  grpc: ({ port }, field) => portNumber(port ?? 0, `${field}.port`),
  sleep: ({ seconds }, field, { terminationGracePeriodSeconds: most }) => {
    const why = `must be non-negative and less than terminationGracePeriodSeconds (${most})`
    return Number(seconds ?? 0) < 0 || Number(seconds) > Number(most) ? [invalidValue(field, seconds, why)] : []
  },
}

const handlerErrors: PodRule = (value, field, spec) => {
  const handler = mapOf(value)
  const [first, ...others] = Object.keys(handlers).filter((name) => handler[name] !== undefined)
  if (first === undefined) return [required(field, 'must specify a handler type')]
  return [
    ...(handlers[first]?.(mapOf(handler[first]), `${field}.${first}`, spec) ?? []),
    ...others.map((name) => forbiddenField(`${field}.${name}`, 'may not specify more than 1 handler type')),
  ]
}

const probe: Rule = members({
  initialDelaySeconds: nonNegative,
  timeoutSeconds: nonNegative,
  periodSeconds: nonNegative,
  successThreshold: nonNegative,
  failureThreshold: nonNegative,
  terminationGracePeriodSeconds: optional(holds((value) => Number(value) > 0, 'must be greater than 0')),
})

const anyProbe: PodRule = optional((value, field, spec) => [
  ...handlerErrors(value, field, spec),
  ...probe(value, field),
])

const onceProbe: PodRule = optional((value, field, spec) => [
  ...anyProbe(value, field, spec),
  ...holds((times) => times === undefined || times === 1, 'must be 1')(
    mapOf(value).successThreshold,
    `${field}.successThreshold`,
  ),
])

const readinessProbe: PodRule = optional((value, field, spec) => [
  ...anyProbe(value, field, spec),
  ...holds((seconds) => seconds === undefined, 'must not be set for readinessProbes')(
    mapOf(value).terminationGracePeriodSeconds,
    `${field}.terminationGracePeriodSeconds`,
  ),
])

const running = members<[JsonMap]>({
  lifecycle: members({ postStart: optional(handlerErrors), preStop: optional(handlerErrors) }),
  livenessProbe: onceProbe,
  readinessProbe,
  startupProbe: onceProbe,
})

const hostPortErrors = (containers: readonly JsonMap[], field: string): FieldError[] => {
  const seen = new Set<string>()
  return containers.flatMap((container, index) =>
    items((port, place) => {
      const key = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`
      if (isZero(port.hostPort)) return []
      return seen.size === seen.add(key).size ? [duplicate(`${place}.hostPort`, key)] : []
    })(container.ports, `${field}[${index}].ports`),
  )
}

/** The errors of a pod's containers. */
export const containers: PodRule = (value, field, spec) => {
  const all = listOf(value).map(mapOf)
  if (all.length === 0) return [required(field)]
  const each = items<[JsonMap]>((item, place, before, context) => [
    ...common(item, place, context),
    ...unique(item, place, before),
    ...running(item, place, context),
    ...restartErrors(item, place),
  ])
  return [...each(value, field, spec), ...hostPortErrors(all, field)]
}

const notAtFirst = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']

/** The errors of a pod's init containers. */
export const initContainers: PodRule = items((item, field, before, spec) => [
  ...common(item, field, spec),
  ...restartErrors(item, field),
  ...unique(item, field, [...listOf(spec.containers).map(mapOf), ...before]),
  ...(item.restartPolicy === 'Always'
    ? running(item, field, spec)
    : notAtFirst
        .filter((key) => item[key] !== undefined)
        .map((key) =>
          forbiddenField(`${field}.${key}`, 'may not be set for init containers without restartPolicy=Always'),
        )),
])
