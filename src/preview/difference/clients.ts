import { resolveClient } from '../../authorization/client.ts'
import { CLIENT_ASPECTS, kindsOfPods } from '../../authorization/kinds.ts'
import { isOnMesh, type ObservedPods, serviceAccountName, typicalPod } from '../../authorization/pods.ts'
import type { Query } from '../../authorization/query.ts'
import { Refused } from '../../base/errors.ts'
import { type Subject, subjectName } from '../../base/subject.ts'
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
  /** `shop/web`; `shop/sa/web` where only the account is known, and `shop/*` for whoever else is in a namespace that cannot be read. Absent outside the mesh. */
  readonly name?: string
  readonly namespace: string
  readonly subject?: Subject
  /** The address, or block of addresses, of a client outside the mesh that policies tell apart. */
  readonly address?: string | undefined
  /** But for these blocks. */
  readonly notAddresses?: readonly string[]
  /** Before and after; undefined where it does not exist. */
  readonly faces: readonly [Face | undefined, Face | undefined]
}

/** An application or a Gateway as a client, in both worlds. */
export const clientOf = async (subject: Subject, worlds: readonly [World, World]): Promise<Client> => {
  const faces = [await faceOf(subject, worlds[0]), await faceOf(subject, worlds[1])] as const
  return { name: subjectName(subject), namespace: subject.namespace, subject, faces }
}

/** A client that runs as an account, where no pods are known that do. */
export const accountClient = ({ namespace, serviceAccount }: Account, name: string): Client => {
  const labels = { [ENROLMENT_LABEL]: 'ambient' }
  const face = {
    query: { from: { namespace, application: serviceAccount } },
    observed: {
      from: { running: [{ metadata: { labels }, spec: { serviceAccountName: serviceAccount } }] },
      fromNamespace: undefined,
      mesh: undefined,
    },
    account: { namespace, serviceAccount },
    kind: KIND_OF_ACCOUNTS,
  }
  return { name, namespace, faces: [face, face] }
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

const KIND_OF_ACCOUNTS = JSON.stringify([true, false, [], null, ''])

const faceOf = async (subject: Subject, world: World): Promise<Face | undefined> => {
  const observed = await world.observeClient(subject)
  const { from: pods, fromNamespace, mesh } = observed
  const query = { from: subject }
  if (pods === undefined) return undefined
  const { from, isGateway, doubts } = resolved({ ...query, to: subject, port: 1, via: 'service' }, observed) ?? {}
  if (from === undefined) return undefined
  const labels = fromNamespace?.metadata.labels ?? {}
  const kinds = kindsOfPods(pods, labels, CLIENT_ASPECTS)
  const { serviceAccount } = from
  return {
    query,
    observed,
    ...(serviceAccount !== undefined && { account: { namespace: subject.namespace, serviceAccount } }),
    kind: JSON.stringify([
      serviceAccount !== undefined,
      isGateway,
      [...(doubts ?? []), ...(serviceAccount === undefined ? [] : world.doubtsAbout(subject.namespace))],
      mesh ?? null,
      kinds.length > 1 ? [subjectName(subject), kinds.map((one) => kindText(one, labels))] : '',
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
