import type { FoundMeshConfigs } from '../../../mesh/istio/mesh-config.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { decidingText } from './deciding-fields.ts'
import type { ObservedTarget, Worlds } from './world.ts'

/** Tells if everything that decides for a target is the same on both sides. */
export const isUnchanged = (one: ObservedTarget, other: ObservedTarget, worlds: Worlds): boolean =>
  isSame(one.policies, other.policies) &&
  isSame(one.services, other.services) &&
  isSame(one.gateways, other.gateways) &&
  isSame(one.peerAuthentications, other.peerAuthentications) &&
  isSame(classesOf(one), classesOf(other)) &&
  isSame(listed(one.toNamespace), listed(other.toNamespace)) &&
  isSameMesh(worlds[0].join(one, NOBODY).meshConfigs, worlds[1].join(other, NOBODY).meshConfigs) &&
  JSON.stringify(one.said) === JSON.stringify(other.said) &&
  JSON.stringify(one.to?.template) === JSON.stringify(other.to?.template) &&
  isSame(runningOf(one), runningOf(other))

const NOBODY = { from: undefined, fromNamespace: undefined, mesh: undefined }

const classesOf = ({ gatewayClasses }: ObservedTarget) => (gatewayClasses === 'unreadable' ? undefined : gatewayClasses)

const runningOf = ({ to }: ObservedTarget) => to?.running as KubernetesObject[] | undefined

const listed = (object: KubernetesObject | undefined): KubernetesObject[] => (object ? [object] : [])

const isSameMesh = (one: FoundMeshConfigs | undefined, other: FoundMeshConfigs | undefined): boolean =>
  isSame(one?.configs, other?.configs) && one?.unknown === other?.unknown

type Objects = readonly KubernetesObject[] | undefined

const isSame = (some: Objects, others: Objects): boolean =>
  some === others ||
  (some !== undefined &&
    others !== undefined &&
    some.length === others.length &&
    some.every((one, index) => {
      const other = others[index]
      return (
        one === other ||
        (other !== undefined && objectKey(one) === objectKey(other) && decidingText(one) === decidingText(other))
      )
    }))
