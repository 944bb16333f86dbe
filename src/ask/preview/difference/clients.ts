import { areEnrolling, ENROLMENT_LABEL } from '../../../core/relations/mesh-labels.ts'
import { type PodLike, serviceAccountName } from '../../../platform/kubernetes/pod-like.ts'
import type { Account } from '../../authorization/accounts.ts'
import { resolveClient } from '../../authorization/client.ts'
import { CLIENT_ASPECTS, kindsOfPods } from '../../authorization/kinds-of-pods.ts'
import { allPods, isOnMesh, type ObservedPods, typicalPod } from '../../authorization/pods.ts'
import type { Query } from '../../authorization/query.ts'
import { type Side, sideName } from '../../authorization/side.ts'
import { ifThere } from '../compare-requests.ts'
import type { ObservedClient, World, Worlds } from './world.ts'

/** A client on one side of a comparison. */
export type Face = {
  readonly query: Pick<Query, 'from' | 'address'>
  readonly observed: ObservedClient
  /** The ways in which a client may send a request, if it has or may have a sidecar. @default as observed */
  readonly ways?: readonly Way[] | undefined
  /** Its account, if a policy may see one. */
  readonly account?: Account | undefined
  /** Clients of the same kind differ only in their accounts. */
  readonly kind: string
}

/** A way to send requests: as a pod on the mesh, or off it. `isDirect` bypasses waypoints. */
export type Way = { readonly observed: ObservedClient; readonly isDirect?: true }

/** A client that may send requests. */
export type Client = {
  /**
   * `shop/web` or `shop/gateway/web`, or `shop/sa/web` if only the account is known. `shop/*` is any other client in a namespace that cannot be read. `*`
   * in place of the namespace is an unknown namespace. Absent outside the mesh.
   */
  readonly name?: string
  readonly namespace: string
  readonly subject?: Side
  /** The address or block of addresses of a client outside the mesh, if policies distinguish it. */
  readonly address?: string | undefined
  /** Excluded blocks of addresses. */
  readonly notAddresses?: readonly string[]
  /** The client before and after the change. Undefined where it does not exist. */
  readonly faces: readonly [Face | undefined, Face | undefined]
}

/** Tells if a client differs between both sides, or exists on one side only. */
export const isChanged = ({ faces: [before, after] }: Client): boolean => textOf(before) !== textOf(after)

const textOf = (face: Face | undefined): string => JSON.stringify(face && [face.kind, face.account])

/** Builds the client for an application or a Gateway, on both sides. */
export const clientOf = async (subject: Side, worlds: Worlds): Promise<Client> => {
  const name = sideName(subject)
  const faceIn = async (world: World) => faceOf({ from: subject }, await world.observeClient(subject), world, name)
  const faces = [await faceIn(worlds[0]), await faceIn(worlds[1])] as const
  return { name, namespace: subject.namespace, subject, faces }
}

/**
 * Builds the client for an account that pods without a workload run as. If a world has no such pod, for example between two runs of a job, and the account
 * `isNamed`, a pod that would run as it stands in. That pod is on the mesh, by its own label if its namespace is not enrolled.
 */
export const accountClient = (account: Account, worlds: Worlds, isNamed: boolean): Client => {
  const { namespace, serviceAccount } = account
  const isAmbient = worlds.some((world) => areEnrolling(world.namespace(namespace)?.metadata.labels))
  const labels = { ...(!isAmbient && { [ENROLMENT_LABEL]: 'ambient' }) }
  const next: readonly PodLike[] = [{ metadata: { labels }, spec: { serviceAccountName: serviceAccount } }]
  const name = `${namespace}/sa/${serviceAccount}`
  const query = { from: { namespace, application: serviceAccount } }
  const faceIn = (world: World): Face | undefined => {
    const running = world.lone.runningAs(account) ?? (isNamed ? next : undefined)
    const observed = { from: running && { running }, fromNamespace: world.namespace(namespace), mesh: undefined }
    return faceOf(query, observed, world, name)
  }
  return { name, namespace, faces: [faceIn(worlds[0]), faceIn(worlds[1])] }
}

/** Builds a client outside the mesh of which nothing else is known. */
export const outsideClient = (
  address: string,
  { block, not }: { readonly block: string | undefined; readonly not: readonly string[] },
): Client => {
  const observed = { from: undefined, fromNamespace: undefined, mesh: undefined }
  const face = { query: { address }, observed, kind: `outside ${address}` }
  return { namespace: '', address: block, notAddresses: not, faces: [face, face] }
}

/** Builds a client on the mesh of which only the account is known. */
export const plainClient = (account: Account, name: string, namespace: string): Client => {
  const labels = { [ENROLMENT_LABEL]: 'ambient' }
  const face = {
    query: { from: { namespace: account.namespace, application: account.serviceAccount } },
    observed: {
      from: { running: [{ metadata: { labels }, spec: { serviceAccountName: account.serviceAccount } }] },
      fromNamespace: undefined,
      mesh: undefined,
    },
    account,
    kind: JSON.stringify([true, false, [], null, '']),
  }
  return { name, namespace, faces: [face, face] }
}

const faceOf = (
  query: { readonly from: Side },
  observed: ObservedClient,
  world: World,
  name: string,
): Face | undefined => {
  const { from: pods, fromNamespace, mesh } = observed
  const { namespace } = query.from
  if (pods === undefined) return undefined
  const { from, isGateway, doubts } = ifThere(() => resolveClient(query, observed)) ?? {}
  if (from === undefined) return undefined
  const labels = fromNamespace?.metadata.labels ?? {}
  const kinds = kindsOfPods(pods, labels, CLIENT_ASPECTS)
  const { serviceAccount } = from
  const ways = doubts?.length ? waysOf(observed, pods) : undefined
  const seen = serviceAccount ?? (ways && accountIn(pods, labels))
  return {
    query,
    observed,
    ways,
    ...(seen !== undefined && { account: { namespace, serviceAccount: seen } }),
    kind: JSON.stringify([
      serviceAccount !== undefined,
      isGateway,
      [...(doubts ?? []), ...(serviceAccount === undefined ? [] : world.doubtsAbout(namespace))],
      mesh ?? null,
      kinds.length > 1 ? [name, kinds.map((one) => kindText(one, labels))] : '',
    ]),
  }
}

/** Lists the ways in which a client with a sidecar may send requests: with or without its account, and through a waypoint or past it. */
const waysOf = (observed: ObservedClient, pods: ObservedPods): Way[] => {
  const enrolled = (mode: 'ambient' | 'none'): ObservedClient => {
    const labels = { [ENROLMENT_LABEL]: mode, 'sidecar.istio.io/inject': 'false' }
    const running = allPods(pods).map(
      (pod): PodLike => ({
        metadata: { labels },
        spec: { serviceAccountName: serviceAccountName(pod) },
      }),
    )
    return { ...observed, from: { running } }
  }
  const known = enrolled('ambient')
  return [{ observed: known }, { observed: known, isDirect: true }, { observed: enrolled('none') }]
}

const accountIn = (pods: ObservedPods, namespace: Readonly<Record<string, string>>): string | undefined => {
  const pod = typicalPod(pods, namespace)
  return pod && serviceAccountName(pod)
}

const kindText = (pods: ObservedPods, namespace: Readonly<Record<string, string>>): string => {
  const pod = typicalPod(pods, namespace)
  return pod ? `${serviceAccountName(pod)} ${isOnMesh(pod, namespace)}` : ''
}
