import { peerAuthenticationProblem } from '../../mesh/istio/peer-authentication.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type Found, foundIn } from './finding.ts'

/** Reports PeerAuthentications that Istio would refuse. One may exist nevertheless, if it is older than the schema. */
export const peerAuthenticationFindings = (objects: readonly KubernetesObject[]): Found[] =>
  objects.flatMap((object) => {
    const problem = peerAuthenticationProblem(object)
    return problem === undefined ? [] : [foundIn(object, 'peer-authentication-refused', problem)]
  })
