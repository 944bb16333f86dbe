import { isEmptyValue, type Json, listOf, mapOf } from './json.ts'
import { modelShape } from './models.ts'
import type { Constraints, Shape } from './schema.ts'

/** The schemas of the custom resources that are served, after the CustomResourceDefinitions of Istio and of the Gateway API. */

const text = (constraints: Constraints = {}): Shape => ({ type: 'string', ...constraints })
const oneOf = (...values: string[]): Shape => text({ enum: values })
const list = (items: Shape, more: Constraints & Pick<Shape, 'keys'> = {}): Shape => ({ type: 'list', items, ...more })
const map = (values: Shape, more: Constraints = {}): Shape => ({ type: 'map', values, ...more })
const struct = (fields: Readonly<Record<string, Shape>>, more: Constraints & Pick<Shape, 'atomic'> = {}): Shape => ({
  type: 'struct',
  fields: () => fields,
  ...more,
})
const textLists = (...names: string[]): Record<string, Shape> =>
  Object.fromEntries(names.map((name) => [name, list(text())]))

const any: Shape = { type: 'any' }
const number: Shape = { type: 'int64' }

const has = (value: Json, ...keys: string[]): boolean => keys.some((key) => mapOf(value)[key] !== undefined)

const resource = (spec: Shape, status: Shape, more: Constraints = {}): Shape =>
  struct({ apiVersion: text(), kind: text(), metadata: modelShape('V1ObjectMeta'), spec, status }, more)

const subdomain = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
const group = text({ maxLength: 253, pattern: `^$|^${subdomain}$` })
const kind = text({ minLength: 1, maxLength: 63, pattern: '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$' })
const name = text({ minLength: 1, maxLength: 253 })

const matchLabels = map(
  text({
    maxLength: 63,
    rules: [{ message: 'wildcard not allowed in label value match', holds: (value) => !String(value).includes('*') }],
  }),
  {
    rules: [
      {
        message: 'wildcard not allowed in label key match',
        holds: (value) => Object.keys(mapOf(value)).every((key) => !key.includes('*')),
      },
      { message: 'key must not be empty', holds: (value) => !Object.keys(mapOf(value)).includes('') },
    ],
  },
)

const targetRef = struct(
  {
    group,
    kind,
    name,
    namespace: text({
      rules: [{ message: 'cross namespace referencing is not currently supported', holds: (value) => value === '' }],
    }),
  },
  { required: ['kind', 'name'] },
)

const accounts = list(text({ maxLength: 320 }), { maxItems: 16 })

const source = struct(
  {
    ...textLists('ipBlocks', 'namespaces', 'notIpBlocks', 'notNamespaces', 'notPrincipals', 'notRemoteIpBlocks'),
    ...textLists('notRequestPrincipals', 'notTrustDomains', 'principals', 'remoteIpBlocks', 'requestPrincipals'),
    ...textLists('trustDomains'),
    serviceAccounts: accounts,
    notServiceAccounts: accounts,
  },
  {
    rules: [
      {
        message: 'Cannot set serviceAccounts with namespaces or principals',
        holds: (value) =>
          !has(value, 'serviceAccounts', 'notServiceAccounts') ||
          !has(value, 'principals', 'notPrincipals', 'namespaces', 'notNamespaces'),
      },
    ],
  },
)

const operation = struct({
  ...textLists('hosts', 'methods', 'notHosts', 'notMethods', 'notPaths', 'notPorts', 'paths', 'ports'),
})

const rule = struct({
  from: list(struct({ source }), { maxItems: 512 }),
  to: list(struct({ operation })),
  when: list(struct({ key: text(), ...textLists('values', 'notValues') }, { required: ['key'] })),
})

export const authorizationPolicy = resource(
  struct(
    {
      action: oneOf('ALLOW', 'DENY', 'AUDIT', 'CUSTOM'),
      provider: struct({ name: text() }),
      rules: list(rule, { maxItems: 512 }),
      selector: struct({ matchLabels }),
      targetRef,
      targetRefs: list(targetRef, { maxItems: 16 }),
    },
    {
      rules: [
        {
          message: 'only one of targetRefs or selector can be set',
          holds: (value) => ['selector', 'targetRef', 'targetRefs'].filter((key) => has(value, key)).length <= 1,
        },
      ],
    },
  ),
  any,
)

const mtls = struct({ mode: oneOf('UNSET', 'DISABLE', 'PERMISSIVE', 'STRICT') })

const isPort = (key: string): boolean => /^\d+$/.test(key) && Number(key) > 0 && Number(key) <= 65535

export const peerAuthentication = resource(
  struct(
    {
      mtls,
      portLevelMtls: map(mtls, {
        rules: [{ message: 'port must be between 1-65535', holds: (value) => Object.keys(mapOf(value)).every(isPort) }],
      }),
      selector: struct({ matchLabels }),
    },
    {
      rules: [
        {
          message: 'portLevelMtls requires selector',
          holds: (value) =>
            !has(value, 'portLevelMtls') || !isEmptyValue(mapOf(mapOf(mapOf(value).selector).matchLabels)),
        },
      ],
    },
  ),
  any,
)

const conditions = list(
  struct(
    {
      lastTransitionTime: text(),
      message: text({ maxLength: 32768 }),
      observedGeneration: number,
      reason: text({ minLength: 1, maxLength: 1024 }),
      status: oneOf('True', 'False', 'Unknown'),
      type: text({ maxLength: 316 }),
    },
    { required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'] },
  ),
  { keys: { type: '' }, maxItems: 8 },
)

const parametersRef = (more: Record<string, Shape> = {}): Shape =>
  struct({ group, kind, name, ...more }, { required: ['group', 'kind', 'name'] })

const routeKinds = list(struct({ group, kind }, { required: ['kind'] }), { maxItems: 8 })

const listener = struct(
  {
    allowedRoutes: struct({
      kinds: routeKinds,
      namespaces: struct({ from: oneOf('All', 'Selector', 'Same'), selector: modelShape('V1LabelSelector') }),
    }),
    hostname: text({ minLength: 1, maxLength: 253, pattern: `^(\\*\\.)?${subdomain}$` }),
    name: text({ minLength: 1, maxLength: 253, pattern: `^${subdomain}$` }),
    port: { type: 'int32', minimum: 1, maximum: 65535 },
    protocol: text({ minLength: 1, maxLength: 255 }),
    tls: struct({
      certificateRefs: list(struct({ group, kind, name, namespace: text({ minLength: 1 }) }, { required: ['name'] }), {
        maxItems: 64,
      }),
      mode: oneOf('Terminate', 'Passthrough'),
      options: map(text({ maxLength: 4096 })),
    }),
  },
  { required: ['name', 'port', 'protocol'] },
)

const isUniqueBy =
  (...keys: string[]) =>
  (value: Json): boolean => {
    const seen = listOf(value).map((item) => JSON.stringify(keys.map((key) => mapOf(item)[key] ?? null)))
    return new Set(seen).size === seen.length
  }

const listenerRules = [
  {
    message: "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    holds: (value: Json) =>
      listOf(value).every(
        (each) => !['HTTP', 'TCP', 'UDP'].includes(String(mapOf(each).protocol)) || !has(each, 'tls'),
      ),
  },
  {
    message: "hostname must not be specified for protocols ['TCP', 'UDP']",
    holds: (value: Json) =>
      listOf(value).every((each) => !['TCP', 'UDP'].includes(String(mapOf(each).protocol)) || !mapOf(each).hostname),
  },
  { message: 'Listener name must be unique within the Gateway', holds: isUniqueBy('name') },
  {
    message: 'Combination of port, protocol and hostname must be unique for each listener',
    holds: isUniqueBy('port', 'protocol', 'hostname'),
  },
]

const addresses = list(struct({ type: text({ minLength: 1, maxLength: 253 }), value: text({ maxLength: 253 }) }), {
  maxItems: 16,
})

export const gateway = resource(
  struct(
    {
      addresses,
      gatewayClassName: text({ minLength: 1, maxLength: 253 }),
      infrastructure: struct({
        annotations: map(text({ maxLength: 4096 })),
        labels: map(text({ maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$' })),
        parametersRef: parametersRef(),
      }),
      listeners: list(listener, { keys: { name: '' }, minItems: 1, maxItems: 64, rules: listenerRules }),
    },
    { required: ['gatewayClassName', 'listeners'] },
  ),
  struct({
    addresses,
    conditions,
    listeners: list(
      struct(
        { attachedRoutes: number, conditions, name: text(), supportedKinds: routeKinds },
        { required: ['attachedRoutes', 'conditions', 'name', 'supportedKinds'] },
      ),
      { keys: { name: '' }, maxItems: 64 },
    ),
  }),
  { required: ['spec'] },
)

export const gatewayClass = resource(
  struct(
    {
      controllerName: text({ minLength: 1, maxLength: 253 }),
      description: text({ maxLength: 64 }),
      parametersRef: parametersRef({ namespace: text({ minLength: 1, maxLength: 63 }) }),
    },
    { required: ['controllerName'] },
  ),
  struct({ conditions, supportedFeatures: list(struct({ name: text() }), { keys: { name: '' }, maxItems: 64 }) }),
  { required: ['spec'] },
)
