import * as z from 'zod'
import { type AuthorizationPolicy, readAuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { policyMistakes } from '../../mesh/istio/policy-mistakes.ts'
import { RawPolicy, rawPolicies } from '../../mesh/istio/raw-policies.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { DOCUMENT_LABEL, fromDocument } from '../../platform/cloudevents/knative/document.ts'
import { Resource } from '../../platform/cloudevents/knative/translation.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { GATEWAY_NAME } from '../authorization/pods.ts'
import { type Found, foundIn } from './finding.ts'
import { peerAuthenticationFindings } from './peer-authentications.ts'
import { mistakeFindings, refusedFindings } from './policies.ts'

/** Reports mistakes in an object of a file, as far as the object alone shows them. */
export const objectFindings = (object: KubernetesObject): Found[] => {
  if (object.kind === 'AuthorizationPolicy') return [...nameFindings(object), ...policyFindings(object)]
  if (object.kind === 'PeerAuthentication') return [...nameFindings(object), ...peerAuthenticationFindings([object])]
  return object.kind === 'ConfigMap' ? documentFindings(object) : []
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

const policyFindings = (object: KubernetesObject): Found[] => {
  const read = readAuthorizationPolicy(object)
  if (!('policy' in read)) return [foundIn(object, 'policy-unreadable', read.unreadable)]
  return [
    ...refusedFindings(object, read.policy),
    ...mistakeFindings(object, policyMistakes(read.policy, undefined), selectsGateways(read.policy)),
  ]
}

/** Tells if the selector has a label of Gateway pods. Istio's own gateways have the label `istio`. */
const selectsGateways = ({ spec: { selector } }: AuthorizationPolicy): boolean =>
  [GATEWAY_NAME, 'istio'].some((label) => Object.hasOwn(selector?.matchLabels ?? {}, label))

const Config = z.object({ rawPolicies: z.array(RawPolicy).default([]) })

/** Checks the policies in a config document. The rest of the config is checked when it is sent. */
const documentFindings = (object: KubernetesObject): Found[] => {
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
    const read = Config.safeParse(config)
    if (!read.success) return refused(`data.config: ${describeIssues(read.error)}`)
    return rawPolicies({ namespace, application: '', labels: {} }, read.data.rawPolicies).flatMap(policyFindings)
  } catch (problem) {
    if (problem instanceof Refused) return refused(problem.message)
    throw problem
  }
}

const dataOf = (document: Resource): { readonly config?: unknown } => {
  const translated = fromDocument(document, 'update')
  return 'data' in translated ? (translated.data as { config?: unknown }) : {}
}
