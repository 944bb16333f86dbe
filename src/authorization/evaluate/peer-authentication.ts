import { groups } from '../../base/groups.ts'
import { hasLabels, type WorkloadSnapshot } from './cluster-snapshot.ts'

export type Mode = 'UNSET' | 'DISABLE' | 'PERMISSIVE' | 'STRICT'

/** A PeerAuthentication, https://istio.io/latest/docs/reference/config/security/peer_authentication/ */
export type PeerAuthentication = {
  readonly namespace: string
  readonly name: string
  /** RFC 3339; of two that hold for the same pods the older one does. */
  readonly created: string
  /** Absent or empty for a whole namespace, and in the root namespace for the mesh. */
  readonly selector?: Readonly<Record<string, string>> | undefined
  readonly mode: Mode
  readonly ports: Readonly<Record<string, Mode>>
}

/**
 * Returns the reason why the ztunnel of `workload` refuses plaintext on `port`, if it does. It follows istiod's translation
 * (pilot/pkg/serviceregistry/ambient/authorization.go), also where that admits more than was meant.
 */
export const refusesPlaintext = (
  all: readonly PeerAuthentication[],
  workload: WorkloadSnapshot,
  port: number,
  rootNamespace: string,
): string | undefined => {
  const oldest = (holds: (one: PeerAuthentication) => boolean) => sorted(all.filter(holds))[0]
  const mesh = oldest((one) => one.namespace === rootNamespace && isForAll(one))
  const isOfNamespace = (one: PeerAuthentication) =>
    one.namespace === workload.namespace && one.namespace !== rootNamespace
  const namespace = oldest((one) => isOfNamespace(one) && isForAll(one))
  const pods = oldest((one) => isOfNamespace(one) && !isForAll(one) && hasLabels(workload.labels, one.selector))
  const inherited = namespace === undefined || namespace.mode === 'UNSET' ? mesh : namespace
  const above: Above = { isStrict: inherited?.mode === 'STRICT', isOfMesh: inherited === mesh, isSaid: !!namespace }
  const isStrict = pods === undefined ? above.isStrict : isStrictAt(pods, String(port), above)
  if (!isStrict) return undefined
  const { namespace: home, name } =
    [pods, inherited].find((one) => one && one.mode !== 'UNSET') ?? pods ?? inherited ?? NONE
  return `PeerAuthentication ${home}/${name} takes no plaintext, and the client is outside the mesh`
}

const NONE = { namespace: '', name: '' }

const isForAll = ({ selector = {} }: PeerAuthentication): boolean => Object.keys(selector).length === 0

const sorted = (some: readonly PeerAuthentication[]): PeerAuthentication[] =>
  groups(some, ({ created, namespace, name }) => `${created} ${namespace}/${name}`).flatMap(([, same]) => same)

/** The mode inherited by a policy whose own is UNSET. */
type Above = { readonly isStrict: boolean; readonly isOfMesh: boolean; readonly isSaid: boolean }

const isStrictAt = ({ mode, ports }: PeerAuthentication, port: string, above: Above): boolean => {
  const own = Object.hasOwn(ports, port) ? ports[port] : undefined
  const has = (...modes: Mode[]) => Object.values(ports).some((one) => modes.includes(one))
  const isExempt = own === 'PERMISSIVE' || own === 'DISABLE'
  if (mode === 'STRICT') return !isExempt
  // istiod counts such a port as guarded by the mesh policy, which the pods' own policy has replaced
  if (mode !== 'UNSET') return own === 'STRICT' && !(above.isStrict && above.isOfMesh)
  if (!above.isStrict) return own === 'STRICT'
  if (!has('PERMISSIVE')) return true
  // below a namespace policy without a mode istiod drops the exception
  return !(above.isSaid && above.isOfMesh) && !isExempt
}
