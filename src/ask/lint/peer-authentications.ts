import { peerAuthenticationProblem } from '../../mesh/istio/peer-authentication.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type Found, foundIn } from './finding.ts'

/** PeerAuthentications that Istio would refuse. One may be there all the same, from before its schema was. */
export const peerAuthenticationFindings = (objects: readonly KubernetesObject[]): Found[] =>
  objects.flatMap((object) => {
    const problem = peerAuthenticationProblem(object)
    return problem === undefined ? [] : [foundIn(object, 'peer-authentication-refused', problem)]
  })
