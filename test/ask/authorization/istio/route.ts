import type { AccessRequest, ClusterSnapshot } from '../../../../src/ask/authorization/evaluate.ts'
import type { AuthorizationPolicy } from '../../../../src/mesh/istio/authorization-policy.ts'
import { type Carrier, runEnvoy } from './envoy.ts'
import { every, type Outcomes, union, type Wire } from './outcomes.ts'
import { isSubset, type Pod, peerAuthorizations } from './peers.ts'
import { type Authorization, emptyMatch, referencesOf, runZtunnel, toZtunnel } from './ztunnel.ts'

type Named = { namespace: string; name: string }
type TargetRef = ReturnType<typeof referencesOf>[number]

const typeOf = ({ group = '', kind }: TargetRef): string => `${group === 'core' ? '' : group}/${kind}`

const isGateway = (reference: TargetRef, { metadata }: AuthorizationPolicy, gateway: Named): boolean =>
  typeOf(reference) === 'gateway.networking.k8s.io/Gateway' &&
  metadata.namespace === gateway.namespace &&
  ['', metadata.namespace].includes(reference.namespace ?? '') &&
  reference.name === gateway.name

const attachedToWaypoint = (
  world: ClusterSnapshot,
  waypoint: Named,
  service: Named | undefined,
): AuthorizationPolicy[] =>
  world.policies.filter((policy) =>
    referencesOf(policy).some((reference) => {
      const home = policy.metadata.namespace
      if (typeOf(reference) === '/Service') return home === service?.namespace && reference.name === service.name
      if (typeOf(reference) === 'gateway.networking.k8s.io/GatewayClass')
        return home === world.rootNamespace && reference.name === 'istio-waypoint'
      return isGateway(reference, policy, waypoint)
    }),
  )

const attachedToPods = (world: ClusterSnapshot, { namespace, labels }: Pod) =>
  world.policies.filter(
    ({ metadata, spec }) =>
      [namespace, world.rootNamespace].includes(metadata.namespace) &&
      isSubset(spec.selector?.matchLabels ?? {}, labels),
  )

/** Of a selector without matchLabels istiod makes a policy of pods that it attaches to none. */
const isDistributed = ({ spec }: AuthorizationPolicy): boolean =>
  spec.selector === undefined || spec.selector.matchLabels !== undefined

const carriers = (declared: Carrier | undefined, { method, path, host }: AccessRequest): Carrier[] => {
  if (declared) return [declared]
  return [method, path, host].every((one) => one === undefined) ? ['http', 'tcp'] : ['http']
}

/** All that may become of a request: true is that it passes. Whichever of the namespaces may be the root is. */
export const outcomesOf = (request: AccessRequest, world: ClusterSnapshot): Outcomes =>
  union(
    [world.rootNamespace, ...(world.otherRoots ?? [])].map((rootNamespace) =>
      outcomesIn(request, { ...world, rootNamespace }),
    ),
  )

const outcomesIn = (request: AccessRequest, world: ClusterSnapshot): Outcomes => {
  if (request.to.gateway) return atGateway(request, world)
  const service = servedBy(request.to, world)
  return union(
    samples(service?.waypoint, service?.canary).map((waypoint) =>
      every([...atWaypoint(request, world, waypoint), ...atPods(request, world, waypoint)]),
    ),
  )
}

type Taken = ClusterSnapshot['services'][number]['waypoint']

/** The waypoints that a ztunnel may pick, by weight. */
const samples = (primary: Taken, canary: ClusterSnapshot['services'][number]['canary']): Taken[] => {
  if (canary === undefined || primary === undefined) return [primary]
  return [...(canary.weight < 100 ? [primary] : []), ...(canary.weight > 0 ? [canary] : [])]
}

const servedBy = (to: AccessRequest['to'], world: ClusterSnapshot) =>
  world.services.find((one) => one.namespace === to.namespace && one.name === to.service)

const spiffeOf = ({ trustDomain }: ClusterSnapshot, namespace: string, account: string): string =>
  `spiffe://${trustDomain}/ns/${namespace}/sa/${account}`

const wireOf = ({ from, port, method, path, host }: AccessRequest, world: ClusterSnapshot): Wire => ({
  spiffe: from.serviceAccount === undefined ? undefined : spiffeOf(world, from.namespace, from.serviceAccount),
  ip: from.address,
  port,
  method,
  path,
  host,
})

const atGateway = (request: AccessRequest, world: ClusterSnapshot): Outcomes => {
  const { to, port } = request
  const { name = '', labels = {}, takesCertificates: isUnknown } = to.gateway ?? {}
  const selecting = attachedToPods(world, { namespace: to.namespace, labels })
  const policies = world.policies.filter((policy) => {
    const references = referencesOf(policy)
    if (references.length === 0) return selecting.includes(policy)
    return references.some((one) => isGateway(one, policy, { namespace: to.namespace, name }))
  })
  const wire = { ...wireOf(request, world), spiffe: undefined, isUnknown, port: to.podPort ?? port }
  return union(carriers(to.protocol, request).map((carrier) => runEnvoy(policies, wire, carrier, world)))
}

const findWaypoint = ({ from, to }: AccessRequest, world: ClusterSnapshot, taken: Taken) => {
  if (from.serviceAccount === undefined) return undefined
  if (to.service !== undefined) return taken && { waypoint: taken, service: servedBy(to, world) }
  const waypoint = from.isGateway ? undefined : findPods(to, world)?.waypoint
  return waypoint && { waypoint, service: undefined }
}

const findPods = (to: AccessRequest['to'], world: ClusterSnapshot) =>
  world.workloads.find((one) => one.namespace === to.namespace && one.name === to.application)

const atWaypoint = (request: AccessRequest, world: ClusterSnapshot, taken: Taken): Outcomes[] => {
  const found = findWaypoint(request, world, taken)
  if (found === undefined) return []
  const { to, port } = request
  const { waypoint, service } = found
  const policies = attachedToWaypoint(world, waypoint, service)
  const wire = { ...wireOf(request, world), port: service ? port : (to.podPort ?? port) }
  const chains = carriers(service ? to.protocol : undefined, request)
  return [union(chains.map((carrier) => runEnvoy(policies, wire, carrier, world)))]
}

const atPods = (request: AccessRequest, world: ClusterSnapshot, taken: Taken): Outcomes[] => {
  const { to, port } = request
  const workload = findPods(to, world)
  if (workload?.onMesh === false) return []
  const pod: Pod = workload ?? { namespace: to.namespace, labels: { 'app.kubernetes.io/name': to.application } }
  const inner: Wire = { ...wireOf(request, world), port: to.podPort ?? port }
  const waypoint = findWaypoint(request, world, taken)?.waypoint
  const isTunnelled = waypoint && {
    spiffe: spiffeOf(world, waypoint.namespace, waypoint.serviceAccount),
    ip: undefined,
  }
  const policies = [
    ...attachedToPods(world, pod).filter(isDistributed).flatMap(toZtunnel),
    ...peerAuthorizations(world.peerAuthentications ?? [], world.rootNamespace, pod),
  ]
  const flags = world.autoAllowWaypoint === undefined ? [true, false] : [world.autoAllowWaypoint]
  const added = synthetic(request, world, pod)
  return [union(flags.map((isOn) => runZtunnel([...policies, ...(isOn ? added : [])], { ...inner, ...isTunnelled })))]
}

/** An ALLOW for each waypoint of the pods and of the Services in front of them. */
const synthetic = ({ to }: AccessRequest, world: ClusterSnapshot, pod: Pod): Authorization[] => {
  const services = world.services.filter(({ namespace, name, selector }) => {
    const isBehind = selector === undefined ? name === to.application : isSubset(selector, pod.labels)
    return namespace === to.namespace && (name === to.service || isBehind)
  })
  return [...services.map((one) => one.waypoint), findPods(to, world)?.waypoint]
    .filter((one) => one !== undefined)
    .map(({ namespace, serviceAccount }) => {
      const values = [spiffeOf(world, namespace, serviceAccount).slice('spiffe://'.length)]
      return { deny: false, rules: [[[{ ...emptyMatch(), principals: { values } }]]] }
    })
}
