import { resolveClient } from '../../authorization/client.ts'
import { CLIENT_ASPECTS, kindsOfPods } from '../../authorization/kinds-of-pods.ts'
import { isOnMesh, type ObservedPods, type PodLike, serviceAccountName, typicalPod } from '../../authorization/pods.ts'
import type { Query } from '../../authorization/query.ts'
import { type Side, sideName } from '../../authorization/side.ts'
import { Refused } from '../../base/errors.ts'
import { ownValue } from '../../base/own-value.ts'
import { ENROLMENT_LABEL } from '../../istio/names.ts'
import type { ObservedClient, World } from './world.ts'

export type Account = { readonly namespace: string; readonly serviceAccount: string }

/** A client as one side of a comparison sees it. */
export type Face = {
  readonly query: Pick<Query, 'from' | 'address'>
  readonly observed: ObservedClient
  /** Its account, where a policy sees one. */
  readonly account?: Account | undefined
  /** Clients of one kind differ in nothing but their accounts. */
  readonly kind: string
}

/** A client that may send requests. */
export type Client = {
  /** `shop/web`, or `shop/gateway/web`; `shop/sa/web` where only the account is known, and `shop/*` for whoever else is in a namespace that cannot be read, which is `*` where it is not known. Absent outside the mesh. */
  readonly name?: string
  readonly namespace: string
  readonly subject?: Side
  /** The address, or block of addresses, of a client outside the mesh that policies tell apart. */
  readonly address?: string | undefined
  /** But for these blocks. */
  readonly notAddresses?: readonly string[]
  /** Before and after; undefined where it does not exist. */
  readonly faces: readonly [Face | undefined, Face | undefined]
}

/** Tells if a client is another one after the change, or is there on one side alone. */
export const isChanged = ({ faces: [before, after] }: Client): boolean => textOf(before) !== textOf(after)

const textOf = (face: Face | undefined): string => JSON.stringify(face && [face.kind, face.account])

/** An application or a Gateway as a client, in both worlds. */
export const clientOf = async (subject: Side, worlds: readonly [World, World]): Promise<Client> => {
  const name = sideName(subject)
  const faceIn = async (world: World) => faceOf({ from: subject }, await world.observeClient(subject), world, name)
  const faces = [await faceIn(worlds[0]), await faceIn(worlds[1])] as const
  return { name, namespace: subject.namespace, subject, faces }
}

/**
 * Makes a client of those that run as an account beside the applications: the pods that do, and where there are none in a world, as of a job between two runs, one that
 * would if it `isNamed`. That one is on the mesh, by itself where its namespace never is.
 */
export const accountClient = (account: Account, worlds: readonly [World, World], isNamed: boolean): Client => {
  const { namespace, serviceAccount } = account
  const isAmbient = worlds.some(
    (world) => ownValue(world.namespace(namespace)?.metadata.labels, ENROLMENT_LABEL) === 'ambient',
  )
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

/** A client of which nothing is known but that it is outside the mesh. */
export const outsideClient = (
  address: string,
  { block, not }: { readonly block: string | undefined; readonly not: readonly string[] },
): Client => {
  const observed = { from: undefined, fromNamespace: undefined, mesh: undefined }
  const face = { query: { address }, observed, kind: `outside ${address}` }
  return { namespace: '', address: block, notAddresses: not, faces: [face, face] }
}

/** The kind of whoever is on the mesh and has an account, of whom nothing else is known. */
export const KIND_OF_ACCOUNTS = JSON.stringify([true, false, [], null, ''])

const faceOf = (
  query: { readonly from: Side },
  observed: ObservedClient,
  world: World,
  name: string,
): Face | undefined => {
  const { from: pods, fromNamespace, mesh } = observed
  const { namespace } = query.from
  if (pods === undefined) return undefined
  const { from, isGateway, doubts } = resolved({ ...query, to: query.from, port: 1, via: 'service' }, observed) ?? {}
  if (from === undefined) return undefined
  const labels = fromNamespace?.metadata.labels ?? {}
  const kinds = kindsOfPods(pods, labels, CLIENT_ASPECTS)
  const { serviceAccount } = from
  return {
    query,
    observed,
    ...(serviceAccount !== undefined && { account: { namespace, serviceAccount } }),
    kind: JSON.stringify([
      serviceAccount !== undefined,
      isGateway,
      [...(doubts ?? []), ...(serviceAccount === undefined ? [] : world.doubtsAbout(namespace))],
      mesh ?? null,
      kinds.length > 1 ? [name, kinds.map((one) => kindText(one, labels))] : '',
    ]),
  }
}

const kindText = (pods: ObservedPods, namespace: Readonly<Record<string, string>>): string => {
  const pod = typicalPod(pods, namespace)
  return pod ? `${serviceAccountName(pod)} ${isOnMesh(pod, namespace)}` : ''
}

const resolved = (query: Query, { from, fromNamespace }: ObservedClient) => {
  try {
    return resolveClient(query, {
      policies: [],
      gateways: [],
      services: [],
      toNamespace: undefined,
      to: undefined,
      from,
      fromNamespace,
    })
  } catch (error) {
    // no pods, and no template of any
    if (error instanceof Refused) return undefined
    throw error
  }
}
