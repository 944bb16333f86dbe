import { Refused } from '../errors.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { AccessRequest, ServiceInWorld, WorkloadInWorld } from '../policies/decide.ts'
import { at } from '../record.ts'
import type { Observed } from './observe.ts'
import { captured, isGateway, labelsOf, type Pod, portNamed, typicalPod } from './pods.ts'
import type { Question } from './question.ts'
import { waypointOf } from './waypoint.ts'

export type Destination = {
  readonly to: AccessRequest['to']
  readonly services: readonly ServiceInWorld[]
  readonly workloads: readonly WorkloadInWorld[]
  readonly notes: readonly string[]
}

/**
 * Where a request goes. Throws Refused, 404, where it goes to nothing, and 400 where it goes to a gateway, which enforces policies in a
 * way of its own.
 */
export const destinationOf = (question: Question, observed: Observed, isFromGateway: boolean): Destination => {
  const { namespace, application } = question.to
  const service = serviceOf(question, observed)
  const pod = observed.to && typicalPod(observed.to)
  if (pod && isGateway(pod))
    throw new Refused(400, `query.to: expected an application, got ${namespace}/${application}, which is a gateway`)
  const straight = service && straightBecause(service, observed, isFromGateway)
  const { podPort, note } = service && !isHeadless(service) ? portOf(service, question.port, pod) : {}
  const { services, notes } = servicesOf(observed, service)
  const { workloads, partly } = podsOf(question, observed, pod)
  return {
    to: { namespace, application, service: straight ? undefined : service?.metadata.name, podPort },
    services,
    workloads,
    notes: [straight, note, ...notes, partly].filter((one) => one !== undefined),
  }
}

/** Undefined when the request goes to a pod. */
const serviceOf = ({ to, via }: Question, { services, to: pods }: Observed): KubernetesObject | undefined => {
  const name = `${to.namespace}/${to.application}`
  if (via === 'pod' && pods === undefined)
    throw new Refused(404, `query.to: there is neither a StatefulSet nor a Deployment ${name}, nor a Service`)
  if (via === 'pod') return undefined
  const service = services.find(({ metadata }) => metadata.name === to.application)
  if (service) return service
  throw new Refused(404, `query.to: there is no Service ${name}; via=pod asks about a request straight to its pods`)
}

/** Without an address of its own it is a name for the addresses of its pods. */
const isHeadless = ({ spec }: KubernetesObject): boolean => spec?.clusterIP === 'None'

const straightBecause = (
  service: KubernetesObject,
  { toNamespace }: Observed,
  isFromGateway: boolean,
): string | undefined => {
  if (isHeadless(service)) return 'the Service has no address of its own: requests go straight to the pods'
  const labels = [service, toNamespace].map((object) => at(object?.metadata.labels, 'istio.io/ingress-use-waypoint'))
  const usesWaypoint = labels.find((label) => label !== undefined)?.toLowerCase() === 'true'
  return isFromGateway && !usesWaypoint
    ? 'the client is a gateway: it sends straight to the pods, as no label istio.io/ingress-use-waypoint asks for more'
    : undefined
}

type ServicePort = { readonly port: number; readonly targetPort?: number | string }

const portOf = (
  { spec }: KubernetesObject,
  port: number,
  pod: Pod | undefined,
): { podPort?: number | undefined; note?: string } => {
  const ports = (spec?.ports ?? []) as ServicePort[]
  const found = ports.find((one) => one.port === port)
  if (found === undefined) return { note: `the Service has no port ${port}` }
  const { targetPort = port } = found
  if (typeof targetPort === 'number') return { podPort: targetPort }
  const podPort = pod && portNamed(pod, targetPort)
  return podPort === undefined
    ? { note: `no container names its port ${targetPort}: it is taken to be ${port}` }
    : { podPort }
}

/** All of the namespace: also a waypoint of another Service may close the pods to everybody else. */
const servicesOf = (
  { services, gateways = [], toNamespace }: Observed,
  asked: KubernetesObject | undefined,
): { services: ServiceInWorld[]; notes: (string | undefined)[] } => {
  const attached = services.map((service) => ({
    service,
    ...waypointOf(service, toNamespace?.metadata.labels ?? {}, gateways),
  }))
  return {
    services: attached.map(({ service: { metadata, spec }, waypoint, bypassed }) => ({
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      selector: spec?.selector as ServiceInWorld['selector'],
      waypoint,
      bypassed,
    })),
    notes: attached.filter(({ service }) => service === asked).map(({ note }) => note),
  }
}

const podsOf = (
  { to: { namespace, application } }: Question,
  { to, toNamespace }: Observed,
  pod: Pod | undefined,
): { workloads: WorkloadInWorld[]; partly?: string } => {
  if (to === undefined || pod === undefined) return { workloads: [] }
  const { on, of } = captured(to, toNamespace?.metadata.labels ?? {})
  return {
    workloads: [{ namespace, name: application, labels: labelsOf(pod), onMesh: on > 0 }],
    ...(on > 0 && on < of && { partly: `only ${on} of its ${of} pods are on the mesh, and nothing guards the others` }),
  }
}
