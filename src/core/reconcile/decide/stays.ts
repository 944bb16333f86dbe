import type { Condition } from '../../../platform/base/condition.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { type LabelLocation, readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { isUnknown } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import { mayBeForeign } from '../../relations/mesh-labels.ts'
import { configRequester, isConfigRequester, isRequestOf } from '../../relations/requester-names.ts'
import { configWait } from '../../relations/unknown.ts'
import { isWorkload } from '../../workload/objects.ts'
import { readHeld } from '../../workload/pod-labels.ts'
import type { Situation } from './situation.ts'

/** Creates a test for objects that neither change nor go, because it is not known what was asked for in them. */
export const isRequestUnknown = ({ features: { mesh }, desired }: Situation) => {
  const unknown = new Set(desired.unknownRequests)
  return (object: KubernetesObject): boolean =>
    [objectKey(object), ...mesh.requestersOf(object)].some((name) => unknown.has(name))
}

/**
 * Creates a test for stale objects that stay: while other applications, pods or labels still rest on them, and what only a lost config
 * explains. No consumer needs a workload or a Secret.
 */
export const isStaying = (situation: Situation) => {
  const { features, keptFor, waitForPods, desired } = situation
  const isResting =
    keptFor.length > 0 || waitForPods !== undefined || isUnknown(desired.labels, features.mesh.enrolment.key)
  return (object: KubernetesObject): boolean =>
    !isWorkload(object.kind) && object.kind !== 'Secret' && (isResting || isOfConfig(situation, object))
}

/** Lists the keys of labels at a place that stay, besides those that are unknown at every place. */
export const keysThatStay = (situation: Situation, place: LabelLocation): string[] => [
  ...unexplained(situation, place),
  ...keptForPods(situation, place),
]

/** Lists our labels that no relation can have requested, so that the config must explain them. Empty if the config is known. */
export const unexplained = ({ subject: { application }, unknown }: Situation, place: LabelLocation): string[] => {
  if (!unknown.config) return []
  const { labels, holders } = readHeld(application, place)
  return [...holders.own].filter((key) => !mayBeForeign(application, key, ownValue(labels, key) ?? ''))
}

/** Lists the labels of a Service that must stay until its pods have lost theirs: these pods accept only the waypoint that the Service leads to. */
const keptForPods = ({ subject: { application }, waitForPods }: Situation, place: LabelLocation): string[] =>
  waitForPods !== undefined && place.object.kind === 'Service'
    ? [...readLabels(place, fieldManager(application)).holders.own]
    : []

/** Tells if only a lost config may explain an object. A policy that a relation of the application itself asked for goes with that relation. */
export const isOfConfig = ({ features: { mesh }, subject, unknown }: Situation, object: KubernetesObject): boolean =>
  unknown.config && !mesh.requestersOf(object).some((name) => isOwnRequest(subject, name))

const isOwnRequest = (subject: Subject, name: string): boolean => {
  const isOfBeacon = isConfigRequester(name) && name !== configRequester(subject)
  return isOfBeacon || isRequestOf(subject, name)
}

/** Returns the wait for the config, if something stays because only that explains it. */
export const waitsForConfig = ({ subject }: Situation, isKept: boolean): Condition[] =>
  isKept ? [configWait(subject)] : []
