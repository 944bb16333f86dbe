import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import { MESH_KEYS } from '../../relations/mesh-labels.ts'
import type { Conflict } from '../decide/operation.ts'

/**
 * Returns the waits for labels, fields and names that another party holds. Mesh labels may differ from those of the relations, because of
 * the application's own config or of another manager. Then pods may be off the mesh, or a Service may not lead to its waypoint.
 */
export const waitsForHolders = (
  subject: Subject,
  { overruled = [] }: Pick<DesiredLabels, 'overruled'>,
  conflicts: readonly Conflict[],
): Condition[] => {
  const name = subjectName(subject)
  const byConfig = overruled.map(({ key, value, wanted }) =>
    waitFor(
      [name],
      'LabelOverruled',
      `label ${key} of ${name}`,
      `the config of ${name} sets ${key}=${value}, and a relation asks for ${wanted}: take the label out of the config, or end the relation`,
    ),
  )
  return [...byConfig, ...conflicts.map(heldByOther)]
}

/** Returns the condition of a label, a field or a name that another party holds. */
const heldByOther = (conflict: Conflict): Condition => {
  const { object, manager, key } = conflict
  if (key === undefined)
    return waitFor(
      [manager],
      'NameTaken',
      object,
      `${object} is held by ${manager}, and has a name that meshstep needs: delete or rename it, and the next event or resync creates ours`,
    )
  if ('wanted' in conflict && MESH_KEYS.includes(key))
    return waitFor(
      [manager],
      'LabelHeld',
      `label ${key} of ${object}`,
      `${manager} has set ${key}=${conflict.value} on ${object}, and a relation asks for ${conflict.wanted}: remove the label, and the next event or resync sets it`,
    )
  const [reason, what] = 'wanted' in conflict ? (['LabelHeld', 'label'] as const) : (['FieldHeld', 'field'] as const)
  const message = `${manager} holds ${key} on ${object}: make it stop, or no longer request the key`
  return waitFor([manager], reason, `${what} ${key} of ${object}`, message)
}
