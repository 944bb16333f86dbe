import * as z from 'zod'
import { readAuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { policyMistakes } from '../../mesh/istio/policy-mistakes.ts'
import { RawPolicy, rawPolicies } from '../../mesh/istio/raw-policies.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { suggestKeys } from '../../platform/base/nearest-name.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { DOCUMENT_LABEL, fromDocument } from '../../platform/cloudevents/knative/document.ts'
import { Resource } from '../../platform/cloudevents/knative/translation.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { nextPod } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'
import { peerAuthenticationFindings } from './peer-authentications.ts'
import { enforcersOf, mistakeFindings, refusedFindings } from './policies.ts'

/** The pods of files, which a policy in them may select. */
export type KnownPods = {
  readonly pods: readonly KubernetesObject[]
  /** The labels of namespaces. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** Reads the pods of objects: those of workloads are as their templates make them. */
export const knownPods = (objects: readonly KubernetesObject[]): KnownPods => ({
  pods: objects.flatMap((one) => (WORKLOADS.includes(one.kind) ? [nextPod(one)] : one.kind === 'Pod' ? [one] : [])),
  namespaces: new Map(
    objects.flatMap(({ kind, metadata }) => (kind === 'Namespace' ? [[metadata.name, metadata.labels ?? {}]] : [])),
  ),
})

/** Joins what several files say. */
export const joinPods = (all: readonly KnownPods[]): KnownPods => ({
  pods: all.flatMap(({ pods }) => pods),
  namespaces: new Map(all.flatMap(({ namespaces }) => [...namespaces])),
})

const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet']

/** Reports mistakes in an object of a file, as far as the object and the pods in the files show them. */
export const objectFindings = (object: KubernetesObject, known: KnownPods): Found[] => {
  if (object.kind === 'AuthorizationPolicy') return [...nameFindings(object), ...policyFindings(object, known)]
  if (object.kind === 'PeerAuthentication') return [...nameFindings(object), ...peerAuthenticationFindings([object])]
  return object.kind === 'ConfigMap' ? documentFindings(object, known) : []
}

const nameFindings = (object: KubernetesObject): Found[] => {
  const { name, generateName, namespace } = object.metadata
  return [
    ...(name || generateName
      ? []
      : [foundIn(object, 'name-missing', 'it has no metadata.name, and the API server refuses it')]),
    ...(namespace
      ? []
      : [
          foundIn(
            object,
            'namespace-missing',
            'it has no metadata.namespace, so its namespace is that of the context in which it is applied',
          ),
        ]),
  ]
}

const policyFindings = (object: KubernetesObject, { pods, namespaces }: KnownPods): Found[] => {
  const read = readAuthorizationPolicy(object)
  if (!('policy' in read)) return [foundIn(object, 'policy-unreadable', read.unreadable)]
  const { namespace } = object.metadata
  // a file without a namespace is applied in that of somebody's context
  const near = pods.filter((pod) => !namespace || [undefined, '', namespace].includes(pod.metadata.namespace))
  const enforcers = enforcersOf(read.policy, near, (name) => namespaces.get(name || namespace || '') ?? {})
  return [
    ...refusedFindings(object, read.policy),
    ...mistakeFindings(object, policyMistakes(read.policy, undefined), enforcers),
  ]
}

const Config = z.object({ rawPolicies: z.array(RawPolicy).default([]) })

/** Checks the policies in a config document. The rest of the config is checked when it is sent. */
const documentFindings = (object: KubernetesObject, known: KnownPods): Found[] => {
  if (ownValue(object.metadata.labels, DOCUMENT_LABEL) !== 'config') return []
  const { namespace = '' } = object.metadata
  const {
    success,
    data: document,
    error,
  } = Resource.safeParse({
    ...object,
    metadata: { ...object.metadata, namespace: namespace || 'default' },
  })
  const refused = (message: string): Found[] => [foundIn(object, 'document-refused', message)]
  if (!success) return refused(describeIssues(error))
  try {
    const { config } = dataOf(document)
    const read = Config.safeParse(config, { error: suggestKeys })
    if (!read.success) return refused(`data.config: ${describeIssues(read.error)}`)
    return rawPolicies({ namespace, application: '', labels: {} }, read.data.rawPolicies).flatMap((policy) =>
      policyFindings(policy, known),
    )
  } catch (problem) {
    if (problem instanceof Refused) return refused(problem.message)
    throw problem
  }
}

const dataOf = (document: Resource): { readonly config?: unknown } => {
  const translated = fromDocument(document, 'update')
  return 'data' in translated ? (translated.data as { config?: unknown }) : {}
}
