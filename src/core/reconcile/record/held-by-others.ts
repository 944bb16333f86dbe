import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Wait } from '../../../platform/base/wait.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import { MESH_KEYS } from '../../relations/mesh-labels.ts'
import type { Conflict } from '../decide/operation.ts'

/**
 * Returns the waits for fields and names that another party holds. Mesh labels may differ from those of the relations, because of the
 * application's own config or of another manager. Then pods may be off the mesh, or a Service may not lead to its waypoint. Names of
 * objects may be taken.
 */
export const waitsForHolders = (
  subject: Subject,
  { overruled = [] }: Pick<DesiredLabels, 'overruled'>,
  conflicts: readonly Conflict[],
): Wait[] => {
  const name = subjectName(subject)
  const byConfig = overruled.map(({ key, value, wanted }) => ({
    ...{ held: `label ${key} of ${name}`, for: [name] },
    message: `the config of ${name} sets ${key}=${value}, and a relation asks for ${wanted}: take the label out of the config, or end the relation`,
  }))
  const byOthers = conflicts.flatMap((conflict) =>
    'wanted' in conflict && MESH_KEYS.includes(conflict.key)
      ? [
          {
            ...{ held: `label ${conflict.key} of ${conflict.object}`, for: [conflict.manager] },
            message: `${conflict.manager} has set ${conflict.key}=${conflict.value} on ${conflict.object}, and a relation asks for ${conflict.wanted}: remove the label, and the next event or resync sets it`,
          },
        ]
      : [],
  )
  return [...byConfig, ...byOthers, ...conflicts.flatMap(takenName)]
}

/** Returns the wait for another owner's object with the name of one of ours. */
const takenName = (conflict: Conflict): Wait[] => {
  if (conflict.key !== undefined) return []
  const { object, manager } = conflict
  return [
    {
      ...{ held: object, for: [manager] },
      message: `${object} is held by ${manager}, and has a name that meshstep needs: delete or rename it, and the next event or resync creates ours`,
    },
  ]
}
