import { canonicalHash } from '../../platform/base/canonical-hash.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { truncateLabelValue } from '../../platform/kubernetes/label-values.ts'
import { apiVersionOf, type Kind, type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../platform/kubernetes/ownership-labels.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import {
  accountNamed,
  accountOf,
  effectiveDeployment,
  exposedPorts,
  isAccountOurs,
  type PodWorkload,
} from './config.ts'
import type { PodSpec } from './pod-spec.ts'
import type { Values } from './secrets.ts'

/** Names the field manager of an application's workload. Labels have another one, and are never part of these objects. */
export const workloadManager = (application: string): string => `meshstep-workload/${application}`

/** The kinds of a workload's objects. */
export const WORKLOAD_KINDS = ['Deployment', 'Service', 'ServiceAccount', 'StatefulSet'] as const

export const isWorkload = (kind: string): boolean => WORKLOAD_KINDS.some((one) => one === kind)

/** Returns the field manager of a kind. Mesh labels and the workload itself have different managers, so the two never conflict. */
export const managerOf = ({ application }: Subject, kind: string): string =>
  isWorkload(kind) ? workloadManager(application) : fieldManager(application)

/** The kinds besides a workload that its config may request. A coordinator has a ConfigMap as well. */
export const BESIDE_WORKLOADS = ['ConfigMap', 'PodDisruptionBudget'] as const

/** Lists the kinds of a workload's objects, including those that only its config requests. */
export const ownedWorkloadKinds = ({ configMaps, podDisruptionBudget }: PodWorkload) => [
  ...WORKLOAD_KINDS,
  ...(configMaps ? (['ConfigMap'] as const) : []),
  ...(podDisruptionBudget ? (['PodDisruptionBudget'] as const) : []),
]

/** Names the Service that gives each pod of a stateful application a DNS name. */
export const endpointsName = (application: string): string => truncateLabelValue(`${application}-endpoints`)

/**
 * Builds the complete objects of a workload. The order of its keys makes no difference. Nothing in them comes from the cluster, so they
 * hold no address of a pod. They are applied in this order, up to the first refusal, because an invalid spec must not change the ports of a
 * Service in front of old pods.
 */
export const workloadObjects = (subject: Subject, workload: PodWorkload): KubernetesObject[] => {
  const { type, service } = effectiveDeployment(workload)
  return [
    ...(isAccountOurs(workload) ? [serviceAccount(subject, workload)] : []),
    ...Object.entries(workload.configMaps ?? {}).map(([name, data]) =>
      built('ConfigMap', metadata(subject, name), { data }),
    ),
    type === 'stateful' ? statefulSet(subject, workload) : deployment(subject, workload),
    ...(type === 'stateful' && workload.serviceName === undefined ? [endpointsService(subject, workload)] : []),
    ...(service === 'omit' ? [] : [applicationService(subject, workload)]),
    ...(workload.podDisruptionBudget ? [disruptionBudget(subject, workload.podDisruptionBudget)] : []),
  ]
}

/** The labels by which a Service and a workload select the pods. */
const podLabels = (application: string) => ({ [NAME_LABEL]: application })

const metadata = ({ namespace, application }: Subject, name = application) => ({
  name,
  namespace,
  labels: podLabels(application),
})

const built = (
  kind: Kind,
  metadata: KubernetesObject['metadata'],
  content: Partial<KubernetesObject> = {},
): KubernetesObject => ({ apiVersion: apiVersionOf(kind), kind, metadata, ...content })

/** Builds the account. The mesh identifies an application by its account, which has its name by default. */
const serviceAccount = (subject: Subject, workload: PodWorkload): KubernetesObject =>
  built('ServiceAccount', {
    ...metadata(subject, accountOf(subject.application, workload)),
    ...(workload.serviceAccount?.annotations && { annotations: workload.serviceAccount.annotations }),
  })

/** Builds the Secrets of a workload whose values are all stored. `unknown` names the others, which stay as they are. */
export const secretObjects = (
  subject: Subject,
  { secrets = {} }: PodWorkload,
  kept: Values,
): { objects: KubernetesObject[]; unknown: string[] } => {
  const isKept = (keys: Values) => Object.values(keys).every((key) => Object.hasOwn(kept, key))
  const sorted = Map.groupBy(Object.entries(secrets), ([, keys]) => isKept(keys))
  return {
    objects: (sorted.get(true) ?? []).map(([name, keys]) => secret(subject, name, keys, kept)),
    unknown: (sorted.get(false) ?? []).map(([name]) => nameOf({ kind: 'Secret', namespace: subject.namespace, name })),
  }
}

const secret = (subject: Subject, name: string, keys: Values, kept: Values): KubernetesObject =>
  built('Secret', metadata(subject, name), {
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(keys).map(([key, place]) => [key, kept[place] ?? ''])),
  })

const disruptionBudget = (subject: Subject, budget: object): KubernetesObject =>
  built('PodDisruptionBudget', metadata(subject), {
    spec: { ...budget, selector: { matchLabels: podLabels(subject.application) } },
  })

const deployment = (subject: Subject, workload: PodWorkload): KubernetesObject =>
  built('Deployment', metadata(subject), {
    spec: { ...commonSpec(subject, workload), ...(workload.strategy && { strategy: workload.strategy }) },
  })

const statefulSet = (subject: Subject, workload: PodWorkload): KubernetesObject =>
  built('StatefulSet', metadata(subject), {
    spec: {
      ...commonSpec(subject, workload),
      serviceName: workload.serviceName ?? endpointsName(subject.application),
      // with OrderedReady, a pod that never becomes ready would block its own correction
      podManagementPolicy: workload.podManagementPolicy ?? 'Parallel',
      ...(workload.updateStrategy && { updateStrategy: workload.updateStrategy }),
      ...(workload.volumeClaimTemplates?.length && { volumeClaimTemplates: workload.volumeClaimTemplates }),
    },
  })

/** Builds the spec that both kinds have in common. Without a number, a person or an autoscaler may set replicas. */
const commonSpec = ({ application }: Subject, workload: PodWorkload) => ({
  ...(workload.replicas !== undefined && { replicas: workload.replicas }),
  selector: { matchLabels: podLabels(application) },
  template: { metadata: podMetadata(application, workload), spec: templateSpec(application, workload) },
})

/** The annotation with a hash of the ConfigMaps, so that pods are replaced when their content changes. */
const CONTENT = 'meshstep.dev/config-maps'

/** The annotation with a hash of the keys of secret values. It changes with each value, and reveals none. */
const SECRETS = 'meshstep.dev/secrets'

const podMetadata = (application: string, { podMetadata = {}, configMaps, secrets }: PodWorkload) => {
  const annotations = {
    ...podMetadata.annotations,
    ...(configMaps && { [CONTENT]: canonicalHash(configMaps) }),
    ...(secrets && { [SECRETS]: canonicalHash(secrets) }),
  }
  return {
    labels: { ...podMetadata.labels, ...podLabels(application) },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  }
}

const templateSpec = (application: string, workload: PodWorkload) => {
  const { podSpec } = workload
  return {
    ...podSpec,
    containers: podSpec.containers.map(withProtocols),
    ...(podSpec.initContainers && { initContainers: podSpec.initContainers.map(withProtocols) }),
    ...(accountNamed(podSpec) === undefined && { serviceAccountName: accountOf(application, workload) }),
  }
}

/** Sets the protocol of ports, because server-side apply identifies a port by its number and protocol. */
const withProtocols = (container: PodSpec['containers'][number]) => ({
  ...container,
  ...(container.ports && { ports: container.ports.map((port) => ({ ...port, protocol: port.protocol ?? 'TCP' })) }),
})

const applicationService = (subject: Subject, workload: PodWorkload): KubernetesObject => {
  const { deployment, service: settings } = workload
  const kind = effectiveDeployment(workload).service
  const type = kind === 'loadbalancer' ? 'LoadBalancer' : 'ClusterIP'
  const spec =
    kind === 'external'
      ? { type: 'ExternalName', externalName: deployment?.externalName }
      : { type, ...toPods(subject, exposedPorts(workload)) }
  const { annotations } = settings ?? {}
  return built('Service', { ...metadata(subject), ...(annotations && { annotations }) }, { spec })
}

/** Builds a Service that publishes addresses before they are ready, so that peers find each other. */
const endpointsService = (subject: Subject, workload: PodWorkload): KubernetesObject =>
  built('Service', metadata(subject, endpointsName(subject.application)), {
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      ...toPods(subject, exposedPorts({ podSpec: workload.podSpec })),
    },
  })

const toPods = ({ application }: Subject, ports: readonly object[]) => ({
  selector: podLabels(application),
  ...(ports.length > 0 && { ports }),
})
