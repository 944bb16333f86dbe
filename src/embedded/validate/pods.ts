import { at, isEmptyValue, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import { amountOf } from '../kinds/quantity.ts'
import type { FieldError } from '../kinds/status.ts'
import { forbiddenField, invalidValue, labelErrors, required, unsupported } from './errors.ts'
import { keyProblems, problems } from './formats.ts'

export const duplicate = (field: string, value: Json | undefined): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
})

const notFound = (field: string, value: Json | undefined): FieldError => ({
  field,
  reason: 'FieldValueNotFound',
  message: `Not found: ${JSON.stringify(value ?? '')}`,
})

const isMissing = (value: Json | undefined): boolean => value === undefined || value === null || value === ''

const indexed = (list: Json | undefined, field: string): { item: JsonMap; path: string; index: number }[] =>
  listOf(list).map((item, index) => ({ item: mapOf(item), path: `${field}[${index}]`, index }))

/** A present value must be one of a few. */
export const requireOneOf = (value: Json | undefined, field: string, values: readonly string[]): FieldError[] =>
  value === undefined || values.includes(String(value)) ? [] : [unsupported(field, value, values)]

export const nonNegative = (value: Json | undefined, field: string): FieldError[] =>
  Number(value ?? 0) < 0 ? [invalidValue(field, value, 'must be greater than or equal to 0')] : []

const labelName = (value: Json | undefined, field: string): FieldError[] =>
  isMissing(value) ? [required(field)] : problems('label', String(value)).map((why) => invalidValue(field, value, why))

export const portNumber = (value: Json | undefined, field: string): FieldError[] =>
  Number(value) > 0 && Number(value) < 65536
    ? []
    : [invalidValue(field, value, 'must be between 1 and 65535, inclusive')]

const portNameProblems = (name: string): string[] => [
  ...(name.length > 15 ? ['must be no more than 15 characters'] : []),
  ...(/^[-a-z0-9]+$/.test(name) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
  ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter (a-z)']),
  ...(name.includes('--') ? ['must not contain consecutive hyphens'] : []),
  ...(/^-|-$/.test(name) ? ['must not begin or end with a hyphen'] : []),
]

const portErrors = (ports: Json | undefined, field: string): FieldError[] => {
  const names = listOf(ports).map((port) => at(port, 'name'))
  return indexed(ports, field).flatMap(({ item, path, index }) => [
    ...(isMissing(item.name)
      ? []
      : portNameProblems(String(item.name)).map((why) => invalidValue(`${path}.name`, item.name, why))),
    ...(!isMissing(item.name) && names.indexOf(item.name) < index ? [duplicate(`${path}.name`, item.name)] : []),
    ...(item.containerPort === undefined || item.containerPort === 0
      ? [required(`${path}.containerPort`)]
      : portNumber(item.containerPort, `${path}.containerPort`)),
    ...(item.hostPort ? portNumber(item.hostPort, `${path}.hostPort`) : []),
    ...requireOneOf(item.protocol, `${path}.protocol`, ['SCTP', 'TCP', 'UDP']),
  ])
}

const aVariable = "a valid environment variable name must consist only of printable ASCII characters other than '='"
const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

const sourceErrors = ({ value, valueFrom }: JsonMap, field: string): FieldError[] => {
  if (valueFrom === undefined) return []
  const given = sources.filter((source) => at(valueFrom, source) !== undefined)
  const asked = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
  if (given.length === 0) return [invalidValue(field, '', asked)]
  if (!isMissing(value)) return [invalidValue(field, '', 'may not be specified when `value` is not empty')]
  const keyless = ['configMapKeyRef', 'secretKeyRef'].filter(
    (source) => given.includes(source) && isMissing(at(valueFrom, source, 'key')),
  )
  return [
    ...keyless.map((source) => required(`${field}.${source}.key`)),
    ...(given.length > 1 ? [invalidValue(field, '', 'may not have more than one field specified at a time')] : []),
  ]
}

const variableErrors = (env: Json | undefined, field: string): FieldError[] =>
  indexed(env, field).flatMap(({ item, path }) => [
    ...(isMissing(item.name) ? [required(`${path}.name`)] : []),
    ...(isMissing(item.name) || /^[ -<>-~]+$/.test(String(item.name))
      ? []
      : [invalidValue(`${path}.name`, item.name, aVariable)]),
    ...sourceErrors(item, `${path}.valueFrom`),
  ])

const mountErrors = (mounts: Json | undefined, field: string, volumes: readonly (Json | undefined)[]): FieldError[] => {
  const paths = listOf(mounts).map((mount) => at(mount, 'mountPath'))
  return indexed(mounts, field).flatMap(({ item, path, index }) => [
    ...(isMissing(item.name) ? [required(`${path}.name`)] : []),
    ...(volumes.includes(item.name) ? [] : [notFound(`${path}.name`, item.name)]),
    ...(isMissing(item.mountPath) ? [required(`${path}.mountPath`)] : []),
    ...(paths.indexOf(item.mountPath) < index
      ? [invalidValue(`${path}.mountPath`, item.mountPath, 'must be unique')]
      : []),
  ])
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc']

export const portNumberOrName = (value: Json | undefined, field: string): FieldError[] =>
  typeof value === 'string'
    ? portNameProblems(value).map((why) => invalidValue(field, value, why))
    : portNumber(value ?? 0, field)

const handlerErrors = (handler: JsonMap, field: string): FieldError[] => {
  const [first, ...others] = handlers.filter((name) => handler[name] !== undefined)
  if (first === undefined) return [required(field, 'must specify a handler type')]
  const chosen = mapOf(handler[first])
  return [
    ...(first === 'exec' && isEmptyValue(chosen.command ?? []) ? [required(`${field}.exec.command`)] : []),
    ...(first === 'httpGet' || first === 'tcpSocket' ? portNumberOrName(chosen.port, `${field}.${first}.port`) : []),
    ...(first === 'httpGet' ? requireOneOf(chosen.scheme, `${field}.httpGet.scheme`, ['HTTP', 'HTTPS']) : []),
    ...(first === 'grpc' ? portNumber(chosen.port ?? 0, `${field}.grpc.port`) : []),
    ...others.map((name) => forbiddenField(`${field}.${name}`, 'may not specify more than 1 handler type')),
  ]
}

const probeSeconds = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold']
const probes = ['livenessProbe', 'readinessProbe', 'startupProbe']

const probeErrors = (container: JsonMap, path: string): FieldError[] =>
  probes.flatMap((name) => {
    const value = container[name]
    if (value === undefined) return []
    const [probe, field] = [mapOf(value), `${path}.${name}`]
    const grace = probe.terminationGracePeriodSeconds
    const once = name !== 'readinessProbe' && probe.successThreshold !== undefined && probe.successThreshold !== 1
    return [
      ...handlerErrors(probe, field),
      ...probeSeconds.flatMap((key) => nonNegative(probe[key], `${field}.${key}`)),
      ...(grace !== undefined && Number(grace) <= 0
        ? [invalidValue(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0')]
        : []),
      ...(once ? [invalidValue(`${field}.successThreshold`, probe.successThreshold, 'must be 1')] : []),
    ]
  })

const standardResources = ['cpu', 'memory', 'ephemeral-storage']

const resourceNameErrors = (name: string, field: string): FieldError[] => {
  const isStandard = standardResources.includes(name) || name.startsWith('hugepages-')
  if (isStandard) return []
  const bad = keyProblems(name).map((why) => invalidValue(field, name, why))
  if (name.includes('/')) return bad
  const rest = ['must be a standard resource type or fully qualified', 'must be a standard resource for containers']
  return [...bad, ...rest.map((why) => invalidValue(field, name, why))]
}

const amountErrors = (amounts: Json | undefined, field: string): FieldError[] =>
  Object.entries(mapOf(amounts)).flatMap(([name, value]) => [
    ...resourceNameErrors(name, `${field}[${name}]`),
    ...(Number(amountOf(value)) < 0
      ? [invalidValue(`${field}[${name}]`, String(value), 'must be greater than or equal to 0')]
      : []),
  ])

const resourceErrors = (resources: JsonMap, field: string): FieldError[] => {
  const limits = mapOf(resources.limits)
  const above = Object.entries(mapOf(resources.requests)).filter(
    ([name, value]) => limits[name] !== undefined && Number(amountOf(value)) > Number(amountOf(limits[name])),
  )
  return [
    ...amountErrors(limits, `${field}.limits`),
    ...amountErrors(resources.requests, `${field}.requests`),
    ...above.map(([name, value]) => {
      const why = `must be less than or equal to ${name} limit of ${String(limits[name])}`
      return invalidValue(`${field}.requests`, String(value), why)
    }),
  ]
}

const lifecycleErrors = ({ lifecycle }: JsonMap, path: string): FieldError[] =>
  ['postStart', 'preStop'].flatMap((name) => {
    const hook = at(lifecycle, name)
    if (hook === undefined || at(hook, 'sleep') !== undefined) return []
    return handlerErrors(mapOf(hook), `${path}.lifecycle.${name}`)
  })

const partErrors = (item: JsonMap, path: string, volumes: readonly (Json | undefined)[]): FieldError[] => [
  ...labelName(item.name, `${path}.name`),
  ...(isMissing(item.image) ? [required(`${path}.image`)] : []),
  ...requireOneOf(item.terminationMessagePolicy, `${path}.terminationMessagePolicy`, ['File', 'FallbackToLogsOnError']),
  ...portErrors(item.ports, `${path}.ports`),
  ...variableErrors(item.env, `${path}.env`),
  ...mountErrors(item.volumeMounts, `${path}.volumeMounts`, volumes),
  ...requireOneOf(item.imagePullPolicy, `${path}.imagePullPolicy`, ['Always', 'IfNotPresent', 'Never']),
  ...resourceErrors(mapOf(item.resources), `${path}.resources`),
]

const containerErrors = (spec: JsonMap, field: string, volumes: readonly (Json | undefined)[]): FieldError[] => {
  if (listOf(spec.containers).length === 0) return [required(`${field}.containers`)]
  const names = listOf(spec.containers).map((container) => at(container, 'name'))
  return indexed(spec.containers, `${field}.containers`).flatMap(({ item, path, index }) => [
    ...partErrors(item, path, volumes),
    ...(!isMissing(item.name) && names.indexOf(item.name) < index ? [duplicate(`${path}.name`, item.name)] : []),
    ...lifecycleErrors(item, path),
    ...probeErrors(item, path),
  ])
}

const notAtFirst = ['lifecycle', ...probes]

const initErrors = (spec: JsonMap, field: string, volumes: readonly (Json | undefined)[]): FieldError[] => {
  const all = [...listOf(spec.containers), ...listOf(spec.initContainers)].map((container) => at(container, 'name'))
  const first = listOf(spec.containers).length
  return indexed(spec.initContainers, `${field}.initContainers`).flatMap(({ item, path, index }) => [
    ...partErrors(item, path, volumes),
    ...(!isMissing(item.name) && all.indexOf(item.name) < first + index ? [duplicate(`${path}.name`, item.name)] : []),
    ...(item.restartPolicy === 'Always'
      ? probeErrors(item, path)
      : notAtFirst
          .filter((key) => item[key] !== undefined)
          .map((key) =>
            forbiddenField(`${path}.${key}`, 'may not be set for init containers without restartPolicy=Always'),
          )),
  ])
}

/** The required name of a volume's source. */
const sourceNames = [
  ['configMap', 'name'],
  ['secret', 'secretName'],
  ['hostPath', 'path'],
  ['persistentVolumeClaim', 'claimName'],
] as const

const volumeErrors = (volumes: Json | undefined, field: string): FieldError[] => {
  const names = listOf(volumes).map((volume) => at(volume, 'name'))
  return indexed(volumes, field).flatMap(({ item, path, index }) => {
    const [, ...others] = Object.keys(item).filter((key) => key !== 'name')
    return [
      ...others.map((key) => forbiddenField(`${path}.${key}`, 'may not specify more than 1 volume type')),
      ...sourceNames
        .filter(([source, key]) => item[source] !== undefined && isMissing(at(item, source, key)))
        .map(([source, key]) => required(`${path}.${source}.${key}`)),
      ...labelName(item.name, `${path}.name`),
      ...(names.indexOf(item.name) < index ? [duplicate(`${path}.name`, item.name)] : []),
    ]
  })
}

const tolerationErrors = (tolerations: Json | undefined, field: string): FieldError[] =>
  indexed(tolerations, field).flatMap(({ item, path }) =>
    requireOneOf(item.operator, `${path}.operator`, ['Equal', 'Exists']),
  )

const spreadErrors = (constraints: Json | undefined, field: string): FieldError[] =>
  indexed(constraints, field).flatMap(({ item, path }) => [
    ...(Number(item.maxSkew ?? 0) > 0
      ? []
      : [invalidValue(`${path}.maxSkew`, item.maxSkew, 'must be greater than zero')]),
    ...(isMissing(item.topologyKey) ? [required(`${path}.topologyKey`)] : []),
    ...requireOneOf(item.whenUnsatisfiable, `${path}.whenUnsatisfiable`, ['DoNotSchedule', 'ScheduleAnyway']),
  ])

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

/** The errors of a pod's spec. */
export const podSpecErrors = (spec: JsonMap, field: string): FieldError[] => {
  const volumes = listOf(spec.volumes).map((volume) => at(volume, 'name'))
  const { serviceAccountName: account, hostname, activeDeadlineSeconds: deadline } = spec
  return [
    ...volumeErrors(spec.volumes, `${field}.volumes`),
    ...containerErrors(spec, field, volumes),
    ...initErrors(spec, field, volumes),
    ...requireOneOf(spec.restartPolicy, `${field}.restartPolicy`, ['Always', 'OnFailure', 'Never']),
    ...requireOneOf(spec.dnsPolicy, `${field}.dnsPolicy`, dnsPolicies),
    ...labelErrors(spec.nodeSelector, `${field}.nodeSelector`),
    ...(isMissing(account)
      ? []
      : problems('subdomain', String(account)).map((why) => invalidValue(`${field}.serviceAccountName`, account, why))),
    ...(deadline !== undefined && Number(deadline) < 1
      ? [invalidValue(`${field}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive')]
      : []),
    ...(isMissing(hostname) ? [] : labelName(hostname, `${field}.hostname`)),
    ...tolerationErrors(spec.tolerations, `${field}.tolerations`),
    ...spreadErrors(spec.topologySpreadConstraints, `${field}.topologySpreadConstraints`),
  ]
}

/** Pods of a workload are always restarted, and have no deadline. */
export const lastingErrors = (spec: JsonMap, field: string, kind: string): FieldError[] => [
  ...(spec.restartPolicy === undefined || spec.restartPolicy === 'Always'
    ? []
    : [unsupported(`${field}.restartPolicy`, spec.restartPolicy, ['Always'])]),
  ...(spec.activeDeadlineSeconds === undefined
    ? []
    : [forbiddenField(`${field}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`)]),
]

/** The errors of a selector's labels. */
export const selectorLabelErrors = (selector: JsonMap, field: string): FieldError[] =>
  Object.values(mapOf(selector.matchLabels)).flatMap((value) =>
    problems('labelValue', String(value)).map((why) => invalidValue(`${field}.matchLabels`, value, why)),
  )

/** A value must be a count, or a percentage. */
export const countOrPercent = (value: Json | undefined, field: string): FieldError[] => {
  if (typeof value !== 'string') return nonNegative(value, field)
  const why =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
  return /^[0-9]+%$/.test(value) ? [] : [invalidValue(field, value, why)]
}

/** A percentage must not exceed 100%. */
export const atMostAll = (value: Json | undefined, field: string): FieldError[] =>
  typeof value === 'string' && Number.parseInt(value, 10) > 100
    ? [invalidValue(field, value, 'must not be greater than 100%')]
    : []
