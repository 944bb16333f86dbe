import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'

/** A request on its way to a Service, or to a pod with some labels. */
export type Call = {
  from: { namespace: string; application: string }
  namespace: string
  service: string
  labels: Record<string, string>
  port: number
  method: string
  path: string
  host: string
}

type Operation = NonNullable<
  NonNullable<NonNullable<AuthorizationPolicy['spec']['rules']>[number]['to']>[number]['operation']
>

const pattern = (text: string): RegExp => {
  const source = text
    .replace(/[.\\+?^$()|[\]]/g, '\\$&')
    .replaceAll('{**}', '<any>')
    .replaceAll('{*}', '<one>')
    .replace(/^\*$/, '.+')
    .replace(/^\*|\*$/, '.*')
    .replaceAll('<any>', '.*')
    .replaceAll('<one>', '[^/]+')
  return new RegExp(`^${source}$`, 'u')
}

const holds = (patterns: string[] | undefined, text: string): boolean =>
  patterns === undefined || patterns.length === 0 || patterns.some((one) => pattern(one).test(text))

const isCovered = ({ hosts, ports, methods, paths }: Operation, call: Call): boolean =>
  holds(
    hosts?.map((host) => host.toLowerCase()),
    call.host.toLowerCase(),
  ) &&
  holds(ports, `${call.port}`) &&
  holds(methods, call.method) &&
  holds(paths, call.path)

const isAtService = ({ metadata, spec }: AuthorizationPolicy, call: Call): boolean =>
  metadata.namespace === call.namespace && spec.targetRefs?.[0]?.name === call.service

const isAtPod = ({ metadata, spec }: AuthorizationPolicy, call: Call): boolean =>
  metadata.namespace === call.namespace &&
  spec.selector !== undefined &&
  Object.entries(spec.selector.matchLabels ?? {}).every(([key, value]) => call.labels[key] === value)

const isGranted = ({ spec }: AuthorizationPolicy, call: Call): boolean =>
  (spec.rules ?? []).some(({ from, to }) => {
    const principal = `cluster.local/ns/${call.from.namespace}/sa/${call.from.application}`
    const isSource = from?.some(({ source }) => source?.principals?.includes(principal)) ?? true
    return (
      isSource && (!to?.length || to.some(({ operation }) => operation !== undefined && isCovered(operation, call)))
    )
  })

/** What ALLOW policies do with a call at its waypoint and at its pod: undefined where none applies. */
export const evaluate = (policies: readonly AuthorizationPolicy[], call: Call) => {
  const at = (applies: typeof isAtPod): boolean | undefined => {
    const applicable = policies.filter((policy) => applies(policy, call))
    return applicable.length === 0 ? undefined : applicable.some((policy) => isGranted(policy, call))
  }
  return { waypoint: at(isAtService), pod: at(isAtPod) }
}
