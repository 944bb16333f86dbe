import { ownValue } from '../../../platform/base/own-value.ts'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { hasLabels } from '../../../platform/kubernetes/label-selector.ts'
import type { WorkloadSnapshot } from './cluster-snapshot.ts'

type Mode = 'UNSET' | 'DISABLE' | 'PERMISSIVE' | 'STRICT'

/** A PeerAuthentication, https://istio.io/latest/docs/reference/config/security/peer_authentication/ */
export type PeerAuthentication = {
  readonly namespace: string
  readonly name: string
  /** RFC 3339. If two policies apply to the same pods, the older one wins. */
  readonly created: string
  /** Absent or empty selects a whole namespace. In the root namespace, absent selects the mesh, and empty selects that namespace alone. */
  readonly selector?: Readonly<Record<string, string>> | undefined
  readonly mode: Mode
  readonly ports: Readonly<Record<string, Mode>>
}

/**
 * Returns the reason why the ztunnel of `workload` refuses plaintext on `port`, if it does. It follows istiod's translation
 * (pilot/pkg/serviceregistry/ambient/authorization.go), even where that admits more than the author intended.
 */
export const refusesPlaintext = (
  all: readonly PeerAuthentication[],
  workload: WorkloadSnapshot,
  port: number,
  rootNamespace: string,
): string | undefined => {
  const oldest = (holds: (one: PeerAuthentication) => boolean) => sorted(all.filter(holds))[0]
  const isOfMesh = (one: PeerAuthentication) => one.namespace === rootNamespace
  const isOfNamespace = (one: PeerAuthentication) => one.namespace === workload.namespace && !isOfMesh(one)
  const holdsInRoot = workload.namespace === rootNamespace ? isForAll : isBare
  const attached = aboveOf(
    oldest((one) => isOfMesh(one) && holdsInRoot(one)),
    oldest((one) => isOfNamespace(one) && isForAll(one)),
  )
  const merged = aboveOf(
    oldest((one) => isOfMesh(one) && isBare(one)),
    oldest((one) => isOfNamespace(one) && isBare(one)),
  )
  const pods = oldest((one) => isOfNamespace(one) && !isForAll(one) && hasLabels(workload.labels, one.selector))
  const isStrict = pods === undefined ? attached.isStrict : isStrictAt(pods, String(port), attached, merged)
  if (!isStrict) return undefined
  const { namespace: home, name } =
    [pods, attached.by].find((one) => one && one.mode !== 'UNSET') ?? pods ?? attached.by ?? NONE
  return `PeerAuthentication ${home}/${name} takes no plaintext, and the client is outside the mesh`
}

const NONE = { namespace: '', name: '' }

const isForAll = ({ selector = {} }: PeerAuthentication): boolean => Object.keys(selector).length === 0

const isBare = ({ selector }: PeerAuthentication): boolean => selector === undefined

const sorted = (some: readonly PeerAuthentication[]): PeerAuthentication[] =>
  sortedGroups(some, ({ created, namespace, name }) => `${created} ${namespace}/${name}`).flatMap(([, same]) => same)

/** The mode that a policy inherits if its own is UNSET. */
type Above = {
  readonly by: PeerAuthentication | undefined
  readonly isStrict: boolean
  readonly isOfMesh: boolean
  readonly isSaid: boolean
}

const aboveOf = (mesh: PeerAuthentication | undefined, namespace: PeerAuthentication | undefined): Above => {
  const by = namespace === undefined || namespace.mode === 'UNSET' ? mesh : namespace
  return { by, isStrict: by?.mode === 'STRICT', isOfMesh: by === mesh, isSaid: namespace !== undefined }
}

/** Tells if a policy of pods makes the ztunnel refuse plaintext on a port. istiod looks up the inherited mode in two ways: see {@link isStrictUnset}. */
const isStrictAt = (pods: PeerAuthentication, port: string, attached: Above, merged: Above): boolean => {
  const own = ownValue(pods.ports, port)
  if (pods.mode === 'UNSET') return isStrictUnset(pods, own, attached, merged)
  if (pods.mode === 'STRICT') return !isExempting(own)
  // istiod leaves this port to the mesh policy, although the policy of the pods has replaced that
  return own === 'STRICT' && !(merged.isStrict && merged.isOfMesh)
}

const isExempting = (mode: Mode | undefined): boolean => mode === 'PERMISSIVE' || mode === 'DISABLE'

/**
 * Istiod looks up the inherited mode twice. `attached` decides if it makes a policy for the ports. `merged`, which ignores policies with a selector,
 * decides its content.
 */
const isStrictUnset = (
  { ports }: PeerAuthentication,
  own: Mode | undefined,
  attached: Above,
  merged: Above,
): boolean => {
  const modes = Object.values(ports)
  if (!modes.includes(attached.isStrict ? 'PERMISSIVE' : 'STRICT')) return attached.isStrict
  if (!merged.isStrict) return own === 'STRICT'
  // below a namespace policy without a mode, istiod drops the exception
  return modes.some(isExempting) && !(merged.isSaid && merged.isOfMesh) && !isExempting(own)
}
