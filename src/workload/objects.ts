import { apiVersionOf, type KubernetesObject } from '../kubernetes/objects.ts'
import { truncateLabelValue } from '../mesh/names.ts'
import type { Subject } from '../state.ts'
import { deploymentOf, type PodWorkload } from './config.ts'
import type { PodSpec } from './pod-spec.ts'
import { servicePorts } from './service-ports.ts'

/** The field manager that holds an application's workload. Labels are held by another one: what it holds is never in these objects. */
export const workloadManager = (application: string): string => `meshstep-workload/${application}`

/** The kinds an application's workload is made of. */
export const WORKLOAD_KINDS = ['Deployment', 'Service', 'ServiceAccount', 'StatefulSet'] as const

/** The name of the Service that gives each pod of a stateful application a DNS name. */
export const endpointsName = (application: string): string => truncateLabelValue(`${application}-endpoints`)

/**
 * The objects of a workload, whole: equal for workloads that are equal but for the order of their keys. Nothing in them comes from the
 * cluster, so no address of a pod gets in. They are applied in this order, up to the first that is refused: a bad spec must not have moved
 * the ports of a Service whose pods stay as they are.
 */
export const workloadObjects = (subject: Subject, workload: PodWorkload): KubernetesObject[] => {
  const { type, service } = deploymentOf(workload)
  return [
    ...(hasAccount(workload.podSpec) ? [] : [serviceAccount(subject)]),
    type === 'stateful' ? statefulSet(subject, workload) : deployment(subject, workload),
    ...(type === 'stateful' ? [endpointsService(subject, workload)] : []),
    ...(service === 'omit' ? [] : [applicationService(subject, workload)]),
  ]
}

/** The labels by which a Service and a workload find the pods. */
const podLabels = (application: string) => ({ 'app.kubernetes.io/name': application })

const metadata = ({ namespace, application }: Subject, name = application) => ({
  name,
  namespace,
  labels: podLabels(application),
})

const hasAccount = ({ serviceAccountName, serviceAccount: deprecated }: PodSpec): boolean =>
  Boolean(serviceAccountName ?? deprecated)

/** The mesh knows an application by its account, which has its name. */
const serviceAccount = (subject: Subject): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: metadata(subject),
})

const deployment = (subject: Subject, workload: PodWorkload): KubernetesObject => ({
  apiVersion: apiVersionOf('Deployment'),
  kind: 'Deployment',
  metadata: metadata(subject),
  spec: commonSpec(subject, workload),
})

const statefulSet = (subject: Subject, workload: PodWorkload): KubernetesObject => ({
  apiVersion: apiVersionOf('StatefulSet'),
  kind: 'StatefulSet',
  metadata: metadata(subject),
  spec: {
    ...commonSpec(subject, workload),
    serviceName: endpointsName(subject.application),
    // in order, a pod that never becomes ready would also keep its correction from being rolled out
    podManagementPolicy: 'Parallel',
    ...(workload.volumeClaimTemplates?.length && { volumeClaimTemplates: workload.volumeClaimTemplates }),
  },
})

/** Without a number of replicas they are nobody's here, so that a person or an autoscaler may scale. */
const commonSpec = ({ application }: Subject, { podSpec, replicas }: PodWorkload) => ({
  ...(replicas !== undefined && { replicas }),
  selector: { matchLabels: podLabels(application) },
  template: { metadata: { labels: podLabels(application) }, spec: templateSpec(application, podSpec) },
})

const templateSpec = (application: string, podSpec: PodSpec) => ({
  ...podSpec,
  containers: podSpec.containers.map(withProtocols),
  ...(podSpec.initContainers && { initContainers: podSpec.initContainers.map(withProtocols) }),
  ...(!hasAccount(podSpec) && { serviceAccountName: application }),
})

/** The protocol is part of what names a port in server-side apply. */
const withProtocols = (container: PodSpec['containers'][number]) => ({
  ...container,
  ...(container.ports && { ports: container.ports.map((port) => ({ ...port, protocol: port.protocol ?? 'TCP' })) }),
})

const service = (subject: Subject, name: string, spec: Record<string, unknown>): KubernetesObject => ({
  apiVersion: apiVersionOf('Service'),
  kind: 'Service',
  metadata: metadata(subject, name),
  spec,
})

const applicationService = (subject: Subject, workload: PodWorkload): KubernetesObject => {
  const kind = deploymentOf(workload).service
  if (kind === 'external')
    return service(subject, subject.application, {
      type: 'ExternalName',
      externalName: workload.deployment?.externalName,
    })
  return service(subject, subject.application, {
    type: kind === 'loadbalancer' ? 'LoadBalancer' : 'ClusterIP',
    ...toPods(subject, workload),
  })
}

/** Peers find each other before they are ready. */
const endpointsService = (subject: Subject, workload: PodWorkload): KubernetesObject =>
  service(subject, endpointsName(subject.application), {
    type: 'ClusterIP',
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    ...toPods(subject, workload),
  })

const toPods = ({ application }: Subject, { podSpec }: PodWorkload) => {
  const ports = servicePorts(podSpec).map((port) => ({ ...port, targetPort: port.port }))
  return { selector: podLabels(application), ...(ports.length > 0 && { ports }) }
}
