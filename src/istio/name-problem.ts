import { DNS_LABEL } from '../base/names.ts'
import { printValue } from '../base/printed.ts'
import type { MeshPolicy } from './models.ts'

const NAMES = ['source_namespace', 'source_app_name', 'target_namespace', 'target_app_name', 'target_service'] as const

/**
 * Why no object can be made of `policy`: the first of its names that Kubernetes would refuse for a namespace, a ServiceAccount or a
 * Service (RFC 1123 label), or undefined. It also keeps a wildcard out of an identity.
 */
export const namesProblem = (policy: MeshPolicy): string | undefined => {
  const bad = NAMES.find((field) => !isName(policy[field]))
  return bad && `${bad}: expected at most 63 lower-case letters, digits and hyphens, got ${printValue(policy[bad])}`
}

const isName = (name: string | null): boolean => name === null || DNS_LABEL.test(name)
