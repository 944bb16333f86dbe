import { ownValue } from '../base/own-value.ts'
import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../kubernetes/ownership-labels.ts'
import type { Finding } from './lint.ts'

/** Workloads that a grant names, by a ServiceAccount of the application's name, and that it does not let in. */
export const accountFindings = async (
  kubernetes: Kubernetes,
  namespace: string,
  policies: readonly KubernetesObject[],
): Promise<Finding[]> => {
  const principals = new Set(policies.filter(isOurs).flatMap(principalsIn))
  if (principals.size === 0) return []
  const workloads = await Promise.all(
    (['StatefulSet', 'Deployment'] as const).map((kind) => kubernetes.list(kind, namespace)),
  )
  return workloads.flat().flatMap((workload) => {
    const { kind, metadata } = workload
    const isGranted = [...principals].some((one) => one.endsWith(`/ns/${namespace}/sa/${metadata.name}`))
    const message = isGranted ? problemOf(workload) : undefined
    return message === undefined
      ? []
      : [{ rule: 'grant-without-effect', about: nameOf({ kind, ...metadata }), message }]
  })
}

const isOurs = ({ metadata }: KubernetesObject): boolean => ownValue(metadata.labels, APPLICATION_LABEL) !== undefined

const principalsIn = (object: KubernetesObject): string[] => {
  const read = readAuthorizationPolicy(object)
  const { rules = [] } = 'policy' in read ? read.policy.spec : {}
  return rules.flatMap(({ from = [] }) => from.flatMap(({ source }) => source?.principals ?? []))
}

const problemOf = ({ kind, metadata: { name }, spec }: KubernetesObject): string | undefined => {
  const { template } = (spec ?? {}) as { template?: { spec?: { serviceAccountName?: string; hostNetwork?: boolean } } }
  const { serviceAccountName = 'default', hostNetwork } = template?.spec ?? {}
  if (hostNetwork === true)
    return `its pods are in the network of their node, where Istio gives them no identity, and what is granted to ${name} does not let them in: run them without hostNetwork`
  return serviceAccountName === name
    ? undefined
    : `its pods run as the ServiceAccount ${serviceAccountName}, and what is granted to ${name} lets in pods of the ServiceAccount ${name} alone: set serviceAccountName: ${name} in the template of the ${kind}`
}
