import { isOlder, LOWEST, readIstioVersion, versionName } from '../../mesh/istio/version.ts'
import type { Facts, ListName, Seen } from './facts.ts'

/** The result of one check. `todo` says what to do about it. */
export type Check = {
  readonly check: string
  readonly result: 'ok' | 'warning' | 'failed' | 'unknown'
  readonly message: string
  readonly todo?: string
}

/** Clocks may be five minutes apart: the order of events goes by them. */
const MOST_SKEW_MILLISECONDS = 5 * 60 * 1_000

const LOWEST_KUBERNETES = 30

const INSTALL = 'https://knative.dev/docs/install/'

/** Judges what was seen of a cluster, before and after meshstep is installed there. A pure function of the facts. */
export const judge = (facts: Facts): Check[] => [
  kubernetes(facts),
  clock(facts),
  ...Object.entries(APIS).map(([groupVersion, [what, todo]]) => api(facts, groupVersion, what, todo)),
  istio(facts),
  daemons(facts, 'ztunnel', 'the proxies of nodes (ztunnel)', 'install Istio with the profile ambient'),
  daemons(facts, 'cni', "Istio's CNI", 'install the chart istio/cni with the profile ambient'),
  ...(['serving', 'eventing'] as const).map((part) => knative(facts, part)),
  authentication(facts),
  ...installed(facts),
]

const APIS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  'gateway.networking.k8s.io/v1': ['the Gateway API', 'install its CRDs: https://gateway-api.sigs.k8s.io'],
  'security.istio.io/v1': ["Istio's policies", 'install Istio in ambient mode'],
  'serving.knative.dev/v1': ['Knative Serving', INSTALL],
  'eventing.knative.dev/v1': ['Knative Eventing', INSTALL],
  'sources.knative.dev/v1': ["Knative's sources", INSTALL],
}

const kubernetes = ({ kubernetes: version }: Facts): Check => {
  const [, major = '', minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  const check = 'Kubernetes'
  if (minor === '') return { check, result: 'unknown', message: `its version is not known: ${version}` }
  const isOld = Number(major) === 1 && Number(minor) < LOWEST_KUBERNETES
  return isOld
    ? { check, result: 'failed', message: version, todo: `upgrade to 1.${LOWEST_KUBERNETES} or later` }
    : { check, result: 'ok', message: version }
}

const clock = ({ skew }: Facts): Check => {
  const check = 'clock'
  if (skew === undefined) return { check, result: 'unknown', message: 'the API server tells no time' }
  const seconds = Math.round(Math.abs(skew) / 1_000)
  const message = `${seconds} s apart from the API server`
  return Math.abs(skew) <= MOST_SKEW_MILLISECONDS
    ? { check, result: 'ok', message }
    : { check, result: 'failed', message, todo: 'set the clocks: events are ordered by their time' }
}

const api = ({ served }: Facts, groupVersion: string, what: string, todo: string): Check =>
  served.includes(groupVersion)
    ? { check: groupVersion, result: 'ok', message: `served: ${what}` }
    : { check: groupVersion, result: 'failed', message: `not served: ${what}`, todo }

const istio = ({ lists }: Facts): Check => {
  const check = 'istiod'
  const known = lists.istiod
  if ('unknown' in known) return { check, result: 'unknown', message: known.unknown }
  if (known.items.length === 0)
    return { check, result: 'failed', message: 'no Deployment with the label app=istiod', todo: 'install Istio' }
  // a revision that is scaled to none, beside another one, serves nobody
  const serving = known.items.filter(({ status }) => (status?.availableReplicas ?? 0) > 0)
  const named = (serving.length > 0 ? serving : known.items).map((one) => ({
    name: `${one.metadata.namespace}/${one.metadata.name}`,
    version: readIstioVersion({ metadata: one.metadata }) ?? versionOfImage(one),
  }))
  const [{ name = '' } = {}] = named
  if (serving.length === 0)
    return { check, result: 'failed', message: `${name} has no pod that is available`, todo: 'look at its pods' }
  const old = named.find(({ version }) => isOlder(version, LOWEST))
  if (old?.version)
    return {
      ...{ check, result: 'failed', message: `${old.name} ${versionName(old.version)}` },
      todo: `upgrade to ${versionName(LOWEST)} or later`,
    }
  const unknown = named.find(({ version }) => version === undefined)
  if (unknown) return { check, result: 'unknown', message: `the version of ${unknown.name} is not known` }
  const texts = named.map(({ name: one, version }) => `${one} ${version ? versionName(version) : ''}`)
  return { check, result: 'ok', message: texts.join(', ') }
}

/** The tag of an image is the version of a release. */
const versionOfImage = ({ spec = {} }: Seen) => {
  const images = JSON.stringify(spec).match(/"image":"[^"]*pilot:(\d+\.\d+(?:\.\d+)?)[^"]*"/)
  const labels = { 'app.kubernetes.io/version': images?.[1] ?? '' }
  return readIstioVersion({ metadata: { name: '', labels } })
}

const daemons = ({ lists }: Facts, list: ListName, what: string, todo: string): Check => {
  const known = lists[list]
  if ('unknown' in known) return { check: list, result: 'unknown', message: known.unknown }
  if (known.items.length === 0) return { check: list, result: 'failed', message: `not there: ${what}`, todo }
  const [wanted, ready] = (['desiredNumberScheduled', 'numberReady'] as const).map((count) =>
    known.items.reduce((sum, { status }) => sum + (status?.[count] ?? 0), 0),
  )
  const message = `${ready} of ${wanted} nodes are ready`
  return ready === wanted && ready !== 0
    ? { check: list, result: 'ok', message }
    : { check: list, result: 'failed', message, todo: 'look at its pods: on the other nodes nothing is on the mesh' }
}

const knative = ({ lists }: Facts, part: 'serving' | 'eventing'): Check => {
  const check = `knative-${part}`
  const known = lists[part]
  if ('unknown' in known) return { check, result: 'unknown', message: known.unknown }
  if (known.items.length === 0)
    return { check, result: 'failed', message: 'no Deployment in its namespace', todo: INSTALL }
  const away = known.items.filter(({ spec, status }) => spec?.replicas !== 0 && (status?.availableReplicas ?? 0) === 0)
  const version = known.items.flatMap(({ metadata }) => metadata.labels?.['app.kubernetes.io/version'] ?? [])[0]
  return away.length === 0
    ? { check, result: 'ok', message: version ?? 'its version is not known' }
    : {
        ...{
          check,
          result: 'failed',
          message: `not available: ${away.map(({ metadata }) => metadata.name).join(', ')}`,
        },
        todo: 'look at their pods',
      }
}

const authentication = ({ lists }: Facts): Check => {
  const check = 'authentication-oidc'
  const known = lists.features
  if ('unknown' in known) return { check, result: 'unknown', message: known.unknown }
  const features = known.items.find(({ metadata }) => metadata.name === 'config-features')
  return features?.data?.[check] === 'enabled'
    ? { check, result: 'ok', message: 'senders are authenticated' }
    : {
        ...{ check, result: 'warning', message: 'not enabled: the component authentication cannot tell senders apart' },
        todo: `kubectl patch configmap config-features -n knative-eventing --type merge -p '{"data":{"${check}":"enabled"}}'`,
      }
}

/** The parts of meshstep itself, by kind, and the names that they must have. */
const PARTS = {
  // one for all functions, or one for each
  services: ['Knative Service', undefined],
  brokers: ['Broker', 'meshstep'],
  triggers: ['Trigger', undefined],
  sources: ['ApiServerSource', undefined],
  pings: ['PingSource', undefined],
  bindings: ['SinkBinding', undefined],
} as const

const installed = (facts: Facts): Check[] => {
  const { namespace, account, lists, rights } = facts
  const services = lists.services
  if ('items' in services && services.items.length === 0)
    return [
      {
        ...{ check: 'meshstep', result: 'warning', message: `not installed in ${namespace}` },
        todo: 'install it, or name its namespace with -n',
      },
    ]
  return [
    ...(Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((list) => parts(facts, list)),
    'unknown' in rights
      ? { check: 'rights', result: 'unknown', message: rights.unknown }
      : rights.missing.length === 0
        ? { check: 'rights', result: 'ok', message: `the account ${namespace}/${account} has what a step needs` }
        : {
            ...{
              check: 'rights',
              result: 'failed',
              message: `the account ${namespace}/${account} may not ${rights.missing.join(', ')}`,
            },
            todo: 'apply the Role meshstep-step of the manifests',
          },
  ]
}

const parts = ({ lists, namespace }: Facts, list: keyof typeof PARTS): Check[] => {
  const [kind, needed] = PARTS[list]
  const known = lists[list]
  if ('unknown' in known) return [{ check: kind, result: 'unknown', message: known.unknown }]
  const isMissing =
    needed !== undefined ? !known.items.some((one) => one.metadata.name === needed) : known.items.length === 0
  if (isMissing)
    return [
      {
        check: kind,
        result: 'failed',
        message: `${needed ?? 'none'} is not in ${namespace}`,
        todo: 'apply the manifests',
      },
    ]
  return known.items.map((one): Check => {
    const ready = one.status?.conditions?.find(({ type }) => type === 'Ready')
    const check = `${kind} ${one.metadata.name}`
    return ready?.status === 'True'
      ? { check, result: 'ok', message: 'ready' }
      : {
          ...{ check, result: 'failed', message: ready?.message ?? 'not ready' },
          todo: `kubectl describe -n ${namespace} ${kind.replace('Knative Service', 'ksvc').toLowerCase()} ${one.metadata.name}`,
        }
  })
}
