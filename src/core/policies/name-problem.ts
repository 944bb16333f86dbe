import { DNS_LABEL } from '../../platform/base/names.ts'
import { printValue } from '../../platform/base/printed.ts'
import type { MeshPolicy } from './models.ts'

const NAMES = ['source_namespace', 'source_app_name', 'target_namespace', 'target_app_name', 'target_service'] as const

/**
 * Finds the first name in `policy` that Kubernetes would refuse. Namespaces, ServiceAccounts and Services are RFC 1123 labels. This also
 * keeps wildcards out of identities.
 */
export const namesProblem = (policy: MeshPolicy): string | undefined => {
  const bad = NAMES.find((field) => !isName(policy[field]))
  return bad && `${bad}: expected at most 63 lower-case letters, digits and hyphens, got ${printValue(policy[bad])}`
}

const isName = (name: string | null): boolean => name === null || DNS_LABEL.test(name)
