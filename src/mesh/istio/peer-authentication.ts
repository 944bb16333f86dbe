import * as z from 'zod'
import { suggestKeys } from '../../platform/base/nearest-name.ts'
import { describeProblem } from '../../platform/base/printed.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { selectorProblems } from './validation.ts'

const MODES = ['UNSET', 'DISABLE', 'PERMISSIVE', 'STRICT'] as const
const Mutual = z.strictObject({ mode: z.enum(MODES, 'expected UNSET, DISABLE, PERMISSIVE or STRICT').optional() })

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) > 0 && Number(text) <= 65_535

/** The schema of the CustomResourceDefinition with its rules (istio.io/latest/docs/reference/config/security/peer_authentication). */
const Spec = z
  .strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()).optional() }).optional(),
    mtls: Mutual.nullish(),
    portLevelMtls: z
      .record(z.string(), Mutual)
      .refine((ports) => Object.keys(ports).length > 0, 'expected a port')
      .refine((ports) => Object.keys(ports).every(isPort), 'expected ports from 1 to 65535')
      .optional(),
  })
  .refine(({ selector, portLevelMtls }) => !portLevelMtls || Object.keys(selector?.matchLabels ?? {}).length > 0, {
    path: ['portLevelMtls'],
    message: 'expected a selector with labels, without which ports are ignored',
  })

/** Describes the first problem for which Istio would refuse a PeerAuthentication. Returns undefined if it takes it. */
export const peerAuthenticationProblem = ({ spec }: KubernetesObject): string | undefined => {
  const given = spec ?? {}
  const read = Spec.safeParse(given, { error: suggestKeys })
  if (!read.success) return describeProblem(read.error, given, 'spec')
  const [first] = selectorProblems(read.data)
  return first && `spec.${first.path.join('.')}: ${first.message}`
}
