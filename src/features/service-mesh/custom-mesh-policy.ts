import * as z from 'zod'
import { MeshPolicy, WIRE_FIELDS } from '../../core/policies/models.ts'
import { namesProblem } from '../../core/policies/name-problem.ts'

const withoutUnknown = (value: unknown, context: z.RefinementCtx): unknown => {
  const unknown = Object.keys(typeof value === 'object' && value !== null ? value : {}).filter(
    (key) => !WIRE_FIELDS.some((field) => field === key),
  )
  if (unknown.length > 0)
    context.addIssue({ code: 'unrecognized_keys', keys: unknown, input: value as Record<string, unknown> })
  return value
}

/** A MeshPolicy in the config: the wire form, with unknown keys as errors, as everywhere in the config. */
export const CustomMeshPolicy = z
  .unknown()
  .transform(withoutUnknown)
  .pipe(MeshPolicy)
  .superRefine((policy, context) => {
    const message = namesProblem(policy)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
