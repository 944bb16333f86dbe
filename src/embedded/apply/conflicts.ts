import type { Conflict } from '../../platform/kubernetes/managed-fields/apply.ts'
import type { Owner } from '../../platform/kubernetes/managed-fields/owners.ts'
import { Refusal } from '../kinds/status.ts'
import { pathsOf } from './field-paths.ts'

const described = ({ manager, operation, apiVersion, subresource }: Owner): string => {
  const sub = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`
  return JSON.stringify(manager) + sub + (operation === 'Update' ? ` using ${apiVersion}` : '')
}

type Described = { readonly owner: Owner; readonly paths: readonly string[] }

const conflictMessage = (conflicts: readonly Described[]): string => {
  const count = conflicts.reduce((sum, { paths }) => sum + paths.length, 0)
  const [first] = conflicts
  if (first && count === 1)
    return `Apply failed with 1 conflict: conflict with ${described(first.owner)}: ${first.paths[0]}`
  const parts = conflicts.map(({ owner, paths }) =>
    [`conflicts with ${described(owner)}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
  )
  return `Apply failed with ${count} conflicts: ${parts.join('\n')}`
}

/** Refuses to change fields of other owners. */
export const refuseConflicts = (found: readonly Conflict[]): void => {
  if (found.length === 0) return
  const conflicts = found
    .map(({ owner, fields }) => ({ owner, paths: pathsOf(fields) }))
    .toSorted((a, b) => (described(a.owner) < described(b.owner) ? -1 : 1))
  const causes = conflicts.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${described(owner)}`, field })),
  )
  throw new Refusal(409, 'Conflict', conflictMessage(conflicts), { causes })
}
