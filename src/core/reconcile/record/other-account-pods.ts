import * as z from 'zod'
import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { nameOf } from '../../../platform/kubernetes/objects.ts'
import { isOnHost, podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import { whyNotGranted } from '../../policies/missed-pods.ts'
import { readValue } from '../../relations/databags/databag.ts'
import { ACCOUNT_KEY, readPolicies } from '../../relations/databags/policies-databag.ts'
import { readData } from '../../relations/databags/relation-data.ts'
import type { Peers } from '../../relations/peers.ts'
import { relationsWith } from '../../state/relation.ts'
import { type EffectiveState, publishedIn, stands } from '../../state/state.ts'
import type { Running } from '../observe/units.ts'

/** Returns the wait for pods that run as another ServiceAccount than the grants to them name. */
export const otherAccountWaits = (
  { namespace, application }: Subject,
  { relations }: Pick<EffectiveState, 'relations'>,
  peers: Peers,
  { workload }: Running,
): Condition[] => {
  // pods in the network of their node are reported as being off the mesh
  if (workload === undefined || isOnHost(podTemplate(workload))) return []
  const beacons = relationsWith(relations, { interface: 'service_mesh', role: 'requires' })
  // the beacon of another application may name an account for this one, and tells it only to its own consumers
  if (beacons.length === 0) return []
  const accounts = beacons.map(({ remote }) => readValue(remote.data, ACCOUNT_KEY, z.string()))
  const account = accounts.flatMap((one) => ('value' in one ? (one.value ?? []) : []))[0]
  const problem = whyNotGranted(application, podTemplate(workload), account)
  if (problem === undefined || !isGranted({ namespace, application }, peers)) return []
  const of = nameOf({ kind: workload.kind, namespace, name: workload.metadata.name })
  return [waitFor([of], 'AccountNotGranted', `${namespace}/${application}`, `pods of ${of} ${problem}`)]
}

/** Tells if a peer asks its beacon to let the application in. */
const isGranted = ({ namespace, application }: Subject, peers: Peers): boolean =>
  [...peers.values()].some((peer) => {
    if (!('state' in peer)) return false
    const asking = relationsWith(peer.state.relations, { interface: 'service_mesh', role: 'requires' })
    return asking.some((entry) => {
      const published = stands(peer.state, entry) ? publishedIn(peer.state, entry) : undefined
      const data = published && readData(entry.interface, {}, published.data)
      const read = data && 'data' in data ? readPolicies(data.data) : { policies: [] }
      if ('unreadable' in read) return false
      return read.policies.some((one) => one.source_namespace === namespace && one.source_app_name === application)
    })
  })
