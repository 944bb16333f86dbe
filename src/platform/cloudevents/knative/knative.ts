import * as z from 'zod'
import { Refused } from '../../base/errors.ts'
import { Application, Namespace, ObjectName } from '../../base/names.ts'
import { ownValue } from '../../base/own-value.ts'
import type { KubernetesObject, Reference } from '../../kubernetes/objects.ts'
import { APPLICATION_LABEL as OWNER } from '../../kubernetes/ownership-labels.ts'
import { isLive } from '../../kubernetes/pods.ts'
import type { Event } from '../cloud-event.ts'
import { type Author, authorIn, fromDocument } from './document.ts'
import { type Ignored, Resource, type Translated } from './translation.ts'

const APPLICATION_LABEL = 'app.kubernetes.io/name'

const TYPE = /^dev\.knative\.apiserver\.(resource|ref)\.(add|update|delete)$/

/** Finds the object that an ApiServerSource in mode Reference names. Returns undefined if the event has the object, or the object was deleted. */
export const referenceIn = ({ type, data }: Event): (Reference & { namespace: string }) | undefined => {
  if (!/^dev\.knative\.apiserver\.ref\.(add|update)$/.test(type)) return undefined
  const reference = ObjectReference.safeParse(data)
  if (!reference.success)
    throw new Refused(400, 'data: expected a reference to a Pod or a ConfigMap with name and namespace')
  return reference.data
}

const ObjectReference = z.object({ kind: z.enum(['Pod', 'ConfigMap']), namespace: Namespace, name: ObjectName })

/**
 * Finds the pod that holds an event's Lease. Both `tempo-0` and `tempo-0_{uuid}` mean tempo-0. Returns undefined for other events, and for a Lease without
 * a holder.
 */
export const holderIn = ({ type, data }: Event): Holder | undefined => {
  if (!/^dev\.knative\.apiserver\.resource\.(add|update)$/.test(type)) return undefined
  const lease = Resource.safeParse(data)
  if (!lease.success || lease.data.kind !== 'Lease') return undefined
  const { namespace, labels } = lease.data.metadata
  const name = ObjectName.safeParse(podOf(lease.data))
  if (!name.success || !Namespace.safeParse(namespace).success) return undefined
  return { pod: { kind: 'Pod', namespace, name: name.data }, isLabelled: labels?.[APPLICATION_LABEL] !== undefined }
}

/** A pod that may hold a Lease. `isLabelled` tells if the Lease's labels name its application. */
export type Holder = { readonly pod: Reference & { namespace: string }; readonly isLabelled: boolean }

const podOf = ({ spec }: Resource): string | undefined => spec?.holderIdentity?.split('_')[0]

/** Reads the author of the document that an event reports as deleted. Returns undefined for other events. */
export const goneIn = ({ type, data }: Event): Gone | undefined => {
  const object = type === 'dev.knative.apiserver.resource.delete' ? Resource.safeParse(data).data : undefined
  return object?.kind === 'ConfigMap' ? { author: authorIn(object) } : undefined
}

export type Gone = { readonly author: Author | undefined }

/** Converts the event to mode Resource, with the current object. */
export const withObject = (event: Event, object: KubernetesObject): Event => ({
  ...event,
  type: event.type.replace('.ref.', '.resource.'),
  data: object,
})

/** Tells if the event comes from Knative's ApiServerSource or PingSource. */
export const isFromKnative = ({ type }: Event): boolean => type.startsWith('dev.knative.')

/**
 * Translates an event of Knative's sources into one of meshstep, with the same id, source and time. An added or deleted Pod becomes pod-restarted. A
 * Lease, with its holder's pod, becomes leader-elected. A waypoint's Deployment that changes becomes a resync of its beacon. A document becomes relation-changed or config-changed, and its deletion relation-broken or
 * application-removed. A ping becomes resync (knative.dev/docs/eventing/sources). Throws Refused for an unreadable document.
 */
export const fromKnative = (event: Event, holder?: KubernetesObject): Event | Ignored => {
  if (event.type === 'dev.knative.sources.ping') return fromPing(event)
  const [, mode, verb = ''] = TYPE.exec(event.type) ?? []
  if (mode === undefined) return { ignored: `${event.type} is not a known type of event` }
  if (mode === 'ref')
    return { ignored: 'an ApiServerSource in mode Reference does not say what was deleted: set spec.mode to Resource' }
  const object = Resource.safeParse(event.data)
  if (!object.success)
    throw new Refused(400, `data: expected a Kubernetes object with kind, metadata.name and metadata.namespace`)
  const translated = translate(object.data, verb, holder)
  if ('ignored' in translated) return translated
  // a wrong name in a document is an error, but pods and Leases may belong to others
  if (object.data.kind !== 'ConfigMap' && !Application.safeParse(translated.data.application).success)
    return {
      ignored: `${object.data.kind} ${object.data.metadata.name} belongs to no possible application`,
    }
  const { extensions, id, source, time } = event
  return {
    id,
    source,
    ...(time !== undefined && { time }),
    type: `dev.meshstep.${translated.name}.v1`,
    extensions,
    data: { namespace: object.data.metadata.namespace, ...translated.data },
  }
}

const translate = (object: Resource, verb: string, holder: KubernetesObject | undefined): Translated | Ignored => {
  if (object.kind === 'Pod') return fromPod(object, verb)
  if (object.kind === 'Lease') return fromLease(object, verb, holder)
  if (object.kind === 'Deployment') return fromWaypoint(object, verb)
  if (object.kind === 'ConfigMap') return fromDocument(object, verb)
  return { ignored: `a ${object.kind} is not a lifecycle event` }
}

/** A waypoint has the labels of the Gateway that its beacon has made. Whether it serves is in its Deployment, which the beacon's step reads itself. */
const fromWaypoint = ({ metadata: { name, labels } }: Resource, verb: string): Translated | Ignored => {
  const application = ownValue(labels, OWNER)
  if (application === undefined || ownValue(labels, 'gateway.networking.k8s.io/gateway-name') === undefined)
    return { ignored: `Deployment ${name} is no waypoint of a beacon` }
  return verb === 'update'
    ? { name: 'resync', data: { application } }
    : { ignored: `${verb} of a waypoint says nothing: its updates say whether it serves` }
}

const fromPod = (pod: Resource, verb: string): Translated | Ignored => {
  if (verb === 'update') return { ignored: 'update of a Pod is not a lifecycle event: its add and its delete are' }
  const application = applicationOf(pod)
  if (application === undefined)
    return { ignored: `Pod ${pod.metadata.name} has neither a label ${APPLICATION_LABEL} nor an owner` }
  const { name, uid, creationTimestamp: created } = pod.metadata
  if (verb === 'delete' || !isLive(pod))
    return { name: 'pod-restarted', data: { application, pod: { name, uid }, gone: true } }
  const ordinal = ordinalOf(pod)
  return {
    name: 'pod-restarted',
    data: {
      application,
      ...(ordinal && { unit: `${application}/${ordinal}` }),
      pod: { name, uid, ...(created && { created }) },
    },
  }
}

const ordinalOf = (pod: Resource): string | undefined =>
  ownerOf(pod)?.kind === 'StatefulSet' ? /-(\d+)$/.exec(pod.metadata.name)?.[1] : undefined

const ownerOf = ({ metadata }: Resource) => metadata.ownerReferences?.find(({ controller }) => controller === true)

/** Names the application by the pod's label, else by its owner. A ReplicaSet's name is that of its Deployment with the template's hash. */
const applicationOf = (pod: Resource): string | undefined => {
  const owner = ownerOf(pod)
  const suffix = `-${pod.metadata.labels?.['pod-template-hash']}`
  const isOfDeployment = owner?.kind === 'ReplicaSet' && owner.name.endsWith(suffix)
  const workload = isOfDeployment ? owner.name.slice(0, -suffix.length) : owner?.name
  return pod.metadata.labels?.[APPLICATION_LABEL] ?? workload
}

/**
 * Names the application by the Lease's label, else by its holder's pod, else by the Lease's own name. A pod of a StatefulSet is the unit with its ordinal.
 */
const fromLease = (lease: Resource, verb: string, holder: KubernetesObject | undefined): Translated | Ignored => {
  if (verb === 'delete') return { ignored: 'a deleted Lease does not say who leads' }
  const { leaseTransitions } = lease.spec ?? {}
  const { name, uid, labels, creationTimestamp: created } = lease.metadata
  const identity = podOf(lease)
  if (!identity) return { ignored: `Lease ${name} has no holder` }
  const pod = Resource.safeParse(holder).data
  const own = pod && applicationOf(pod)
  const application = labels?.[APPLICATION_LABEL] ?? own ?? name
  const ordinal = pod && own === application ? ordinalOf(pod) : undefined
  return {
    name: 'leader-elected',
    data: {
      application,
      unit: ordinal === undefined ? identity : `${application}/${ordinal}`,
      ...(leaseTransitions !== undefined && { epoch: leaseTransitions }),
      ...(uid !== undefined && { lease: { uid, ...(created && { created }) } }),
    },
  }
}

/** Takes the namespace from the data, else from the PingSource. */
const fromPing = ({ id, source, time, extensions, data }: Event): Event => {
  const namespace = /\/namespaces\/([^/]+)\/pingsources\//.exec(source)?.[1]
  const fields = typeof data === 'object' && data !== null && !(data instanceof Uint8Array) ? data : {}
  return {
    id,
    source,
    ...(time !== undefined && { time }),
    type: 'dev.meshstep.resync.v1',
    extensions,
    data: { ...(namespace && { namespace }), ...fields },
  }
}
