import { at, type JsonMap, mapOf, sortedJson } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { nameHash, uidOf } from '../store/hash.ts'

/** A desired pod; one without a name gets one. */
export type Desired = { readonly metadata: JsonMap; readonly hash: string }

/** A workload as its controller sees it: the desired pods, and the label with their template's hash. */
type Plan = {
  readonly pods: readonly Desired[]
  readonly hash: string
  readonly hashLabel: string
  /** The status for a number of ready pods, and of pods of the present template. */
  readonly status: (ready: number, updated: number) => JsonMap
}

const controlledBy = (apiVersion: string, kind: string, name: string, uid: string): JsonMap => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

// A real cluster runs out of nodes
const mostPods = 500

const replicasOf = ({ spec }: StoredObject): number => Math.min(Number(at(spec, 'replicas') ?? 1), mostPods)

const templateHash = ({ spec }: StoredObject): string => nameHash(sortedJson(at(spec, 'template')), 10)

const podMetadata = (workload: StoredObject, labels: JsonMap, owner: JsonMap): JsonMap => {
  const { annotations, labels: own } = mapOf(at(workload.spec, 'template', 'metadata'))
  return {
    ...(annotations === undefined ? {} : { annotations }),
    labels: { ...mapOf(own), ...labels },
    ownerReferences: [owner],
  }
}

const replicaCounts = (workload: StoredObject, ready: number, updated: number): JsonMap => {
  const replicas = replicasOf(workload)
  return {
    observedGeneration: workload.metadata.generation,
    replicas,
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
    ...(updated > 0 && { updatedReplicas: updated }),
    ...(workload.kind === 'Deployment' && { terminatingReplicas: 0 }),
    ...(workload.kind === 'Deployment' && ready < replicas && { unavailableReplicas: replicas - ready }),
  }
}

const statefulSet = (workload: StoredObject): Plan => {
  const { name, uid } = workload.metadata
  const hash = `${name}-${templateHash(workload)}`
  const owner = controlledBy('apps/v1', 'StatefulSet', name, uid ?? '')
  const ordinals = Array.from(
    { length: replicasOf(workload) },
    (_, index) => index + Number(at(workload.spec, 'ordinals', 'start') ?? 0),
  )
  const pods = ordinals.map((ordinal) => {
    const labels = {
      'apps.kubernetes.io/pod-index': String(ordinal),
      'controller-revision-hash': hash,
      'statefulset.kubernetes.io/pod-name': `${name}-${ordinal}`,
    }
    return {
      metadata: { name: `${name}-${ordinal}`, generateName: `${name}-`, ...podMetadata(workload, labels, owner) },
      hash,
    }
  })
  const replicas = replicasOf(workload)
  const status = (ready: number, updated: number) => ({
    availableReplicas: 0,
    ...replicaCounts(workload, ready, updated),
    ...(replicas > 0 && { currentReplicas: replicas }),
    currentRevision: hash,
    updateRevision: hash,
    collisionCount: 0,
  })
  return { pods, hash, hashLabel: 'controller-revision-hash', status }
}

const deployment = (workload: StoredObject): Plan => {
  const { name, uid, creationTimestamp } = workload.metadata
  const hash = templateHash(workload)
  const replicaSet = `${name}-${hash}`
  const owner = controlledBy('apps/v1', 'ReplicaSet', replicaSet, uidOf(`${uid} ${replicaSet}`))
  const metadata = { generateName: `${replicaSet}-`, ...podMetadata(workload, { 'pod-template-hash': hash }, owner) }
  const since = { lastUpdateTime: creationTimestamp, lastTransitionTime: creationTimestamp }
  const conditions = (isAvailable: boolean) => [
    {
      type: 'Available',
      status: isAvailable ? 'True' : 'False',
      reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
      ...since,
    },
    {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `ReplicaSet "${replicaSet}" has successfully progressed.`,
      ...since,
    },
  ]
  const replicas = replicasOf(workload)
  // a quarter may be unavailable, rounded down
  const least = replicas - Math.floor(replicas / 4)
  const status = (ready: number, updated: number) => ({
    ...replicaCounts(workload, ready, updated),
    conditions: conditions(ready >= least),
  })
  const pods = Array.from({ length: replicas }, () => ({ metadata, hash }))
  return { pods, hash, hashLabel: 'pod-template-hash', status }
}

/** The plans, by kind of workload. */
export const plans: Readonly<Record<string, (workload: StoredObject) => Plan>> = {
  StatefulSet: statefulSet,
  Deployment: deployment,
}
