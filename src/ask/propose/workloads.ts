import { isMarked } from '../../mesh/istio/capture.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { podLabels, podTemplate, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import { controllerNamed, isLive } from '../../platform/kubernetes/pods.ts'
import { isHeadless, isSelecting, isServiceOf } from '../../platform/kubernetes/services.ts'
import { countEnrolled, isGateway, lonePodName, loneProxy, uncertainCaptures } from '../authorization/pods.ts'
import { tcpPorts } from '../authorization/protocol.ts'
import type { Application, Workload } from './cluster.ts'

type Objects = {
  /** Of the namespace. */
  readonly labels: Readonly<Record<string, string>>
  readonly workloads: readonly KubernetesObject[]
  readonly services: readonly KubernetesObject[]
  readonly pods: readonly KubernetesObject[]
}

/** The workloads and Services of a namespace, by the names of applications. */
type Workloads = {
  readonly names: readonly string[]
  of(subject: Subject): Pick<Application, 'workload' | 'services'>
}

export const workloadsIn = ({ labels, workloads, services, pods }: Objects): Workloads => {
  const live = pods.filter(isLive)
  const isMarking = live.some(isMarked)
  const byController = Map.groupBy(live, (pod) => keyOf(controllerNamed(pod)))
  // a StatefulSet goes before a Deployment of the same name
  const byName = new Map(workloads.toReversed().map((object) => [object.metadata.name, object]))
  const lone = live.filter((pod) => !['StatefulSet', 'Deployment'].includes(controllerNamed(pod)?.kind ?? ''))
  const users = [
    ...workloads.map((one) => ({ name: one.metadata.name, account: serviceAccountName(podTemplate(one)) })),
    ...lone.map((pod) => ({ name: lonePodName(pod), account: serviceAccountName(pod) })),
  ]
  const describe = (object: KubernetesObject): Workload => {
    const template = podTemplate(object)
    const running = byController.get(keyOf({ kind: object.kind, ...object.metadata })) ?? []
    const observed = { template, running, isMarking }
    const account = serviceAccountName(template)
    const { on, of } = countEnrolled(observed, labels)
    const sharing = users.filter((one) => one.account === account && one.name !== object.metadata.name)
    return {
      ...{ template, account, isGateway: isGateway(template) },
      isOnMesh: on === of && uncertainCaptures(observed, labels).length === 0,
      sharedWith: [...new Set(sharing.map(({ name }) => name))].toSorted(),
      hasSidecar: loneProxy(observed, labels) !== undefined,
    }
  }
  return {
    names: [...byName.keys()],
    of: (subject) => {
      const object = byName.get(subject.application)
      if (object === undefined) return { services: [] }
      const workload = describe(object)
      return { workload, services: services.filter((service) => isGuardable(service, subject, workload)) }
    },
  }
}

const keyOf = (of: { readonly kind: string; readonly name: string } | undefined): string => `${of?.kind} ${of?.name}`

/** Tells if a Service leads to the pods of an application, by an address that a waypoint can serve. */
const isGuardable = (service: KubernetesObject, subject: Subject, { template }: Workload): boolean =>
  isServiceOf(subject, service) &&
  isSelecting(service, podLabels(template)) &&
  service.spec?.type !== 'ExternalName' &&
  !isHeadless(service) &&
  tcpPorts(service).length > 0
