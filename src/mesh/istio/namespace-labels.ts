import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { LabelConflict, SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import type { MeshConfig } from './beacon-config.ts'
import { applicationIdentity, meshLabels } from './names.ts'
import { runsWaypoint } from './waypoint.ts'

/** Names the beacon that enrolled the namespace. */
const MANAGED_BY = 'charms.canonical.com/istio.io.waypoint.managed-by'

type Labels = Readonly<Record<string, string>>

/** The labels for the beacon's namespace. `inherited` ones are ours under any field manager. */
export type ModelLabels = { labels: Labels; inherited: Labels; conflict?: LabelConflict }

/**
 * Computes the labels that enrol the namespace, or take it off the mesh, unless the label `managed-by` names another manager. Mesh labels without that
 * label belong to others, unless our field manager holds them.
 */
export const modelLabels = (
  { namespace, application }: Subject,
  mesh: MeshConfig | undefined,
  { labels: seen, holders }: SeenLabels,
  isServing: boolean,
): ModelLabels => {
  const manager = ownValue(seen, MANAGED_BY)
  const identity = applicationIdentity({ model: namespace, application })
  const name = { namespace, application }
  const wanted = mesh?.modelOnMesh === true ? wantedLabels(name, mesh, identity, !isServing && isPast(seen)) : {}
  if (manager === identity)
    return { labels: wanted, inherited: pick(seen, [ENROLMENT_LABEL, USE_WAYPOINT_LABEL, MANAGED_BY]) }
  const isHeld = manager === undefined && [ENROLMENT_LABEL, USE_WAYPOINT_LABEL].some((held) => holders.own.has(held))
  const key = [USE_WAYPOINT_LABEL, ENROLMENT_LABEL, MANAGED_BY].find(
    (candidate) => ownValue(seen, candidate) !== undefined,
  )
  if (isHeld || key === undefined || Object.keys(wanted).length === 0) return { labels: wanted, inherited: {} }
  const conflict = { key, manager: manager ?? 'unknown', value: seen[key] ?? '', wanted: wanted[key] ?? '' }
  return { labels: {}, inherited: {}, conflict }
}

/** Tells if labels of another owner keep the beacon from enrolling the whole namespace. */
export const isOfOthers = (subject: Subject, mesh: MeshConfig, seen: SeenLabels): boolean =>
  modelLabels(subject, mesh, seen, true).conflict !== undefined

/** Tells if the namespace is on the mesh without a waypoint. It then gets the waypoint only when that serves, so that no request is refused meanwhile. */
const isPast = (labels: Labels): boolean =>
  ownValue(labels, ENROLMENT_LABEL) !== undefined && ownValue(labels, USE_WAYPOINT_LABEL) === undefined

const wantedLabels = (
  { namespace, application }: Subject,
  mesh: MeshConfig,
  identity: string,
  isWaiting: boolean,
): Record<string, string> => {
  const name = meshLabels({ model: namespace, application })[USE_WAYPOINT_LABEL]
  return {
    ...(runsWaypoint(mesh) && !isWaiting && name && { [USE_WAYPOINT_LABEL]: name }),
    [ENROLMENT_LABEL]: 'ambient',
    [MANAGED_BY]: identity,
  }
}

const pick = (labels: Labels, keys: readonly string[]): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => keys.includes(key)))
