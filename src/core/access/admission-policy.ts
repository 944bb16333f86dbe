import type { Clock } from '../../platform/base/clock.ts'
import { Unavailable } from '../../platform/base/errors.ts'
import { createExpiringCache } from '../../platform/base/expiring-cache.ts'
import { isForbidden } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Kind } from '../../platform/kubernetes/objects.ts'

/** Checks that the API server authenticates the writers of documents in a namespace. Resolves with the problem, if there is one, or if the check failed. */
export type CheckAdmissionPolicy = (namespace: string) => Promise<string | undefined>

type Dependencies = {
  connect(deadline: number): Kubernetes
  clock: Clock
}

/** The time limit, because a step can do without the result. */
const TIMEOUT_MILLISECONDS = 2_000

/** Creates the check. It finds the ValidatingAdmissionPolicy of `components/authentication` and its binding by name, and caches the result for ten seconds. */
export const createAdmissionPolicyCheck = ({ connect, clock }: Dependencies): CheckAdmissionPolicy => {
  const answers = createExpiringCache<string | undefined>(clock)
  return (namespace) =>
    answers(namespace, async () => {
      const name = `meshstep-documents-${namespace}`
      const open = `whoever may write ConfigMaps in ${namespace} may write documents`
      try {
        const problem = await findProblem(connect(clock.now() + TIMEOUT_MILLISECONDS), name)
        return problem && `${open}: ${problem}; ${REMEDY}`
      } catch (error) {
        const unknown = `it is not known whether ${open}: ValidatingAdmissionPolicy ${name} or its binding`
        if (isForbidden(error)) return `${unknown} may not be looked at; ${REMEDY}`
        if (error instanceof Unavailable) return `${unknown} cannot be looked at (${error.message})`
        throw error
      }
    })
}

const findProblem = async (kubernetes: Kubernetes, name: string): Promise<string | undefined> => {
  const find = (kind: Kind) => kubernetes.find({ kind, name })
  const [policy, binding] = await Promise.all([
    find('ValidatingAdmissionPolicy'),
    find('ValidatingAdmissionPolicyBinding'),
  ])
  if (!policy) return `ValidatingAdmissionPolicy ${name} does not exist`
  if (!binding) return `ValidatingAdmissionPolicyBinding ${name} does not exist`
  const { policyName, validationActions } = binding.spec ?? {}
  const isDenying = Array.isArray(validationActions) && validationActions.includes('Deny')
  return policyName === name && isDenying
    ? undefined
    : `ValidatingAdmissionPolicyBinding ${name} does not deny by the policy of its name`
}

const REMEDY = 'apply components/authentication'
