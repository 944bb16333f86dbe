import { OUTSIDE } from '../../../src/ask/authorization/query.ts'
import { type Proposed, propose, type Wanted } from '../../../src/ask/propose/proposal.ts'
import { readCluster } from '../../../src/ask/propose/read-cluster.ts'
import type { AccessNow, Classified } from '../../../src/ask/traffic/classify.ts'
import type { Flow } from '../../../src/ask/traffic/flows.ts'
import { features } from '../../../src/features.ts'
import { sourceEvent } from '../../../src/platform/cloudevents/knative/source-event.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { Explanation } from '../../../src/serve/http/explain.ts'
import type { Place } from '../preview/planned.ts'

export type Verdict = 'allowed' | 'denied' | 'undecided'

export type Asked = {
  readonly from: string
  readonly to: string
  readonly port: number
  readonly via: 'service' | 'pod'
}

/** Puts the namespace `shop` on the mesh, as another owner does. */
export const enrol = ({ api }: Pick<Place, 'api'>): void => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: ON_MESH } }
  send(api, '/api/v1/namespaces/shop?fieldManager=admin', namespace)
}

const ON_MESH = { 'istio.io/dataplane-mode': 'ambient' }

/** What `GET /explain` says of a request. A client without a name is outside the mesh. A side that does not exist reaches nothing. */
export const explain = async (place: Place, { from, to, port, via }: Asked): Promise<Verdict> => {
  const query = new URLSearchParams({ to, port: `${port}`, via, autoAllowWaypoint: 'false' })
  if (from === 'unknown') query.set('address', OUTSIDE)
  else query.set('from', from)
  const response = await place.app.request(`/explain?${query}`)
  if (response.status !== 200) return 'denied'
  const { allowed, decided } = (await response.json()) as Explanation
  return allowed ? 'allowed' : decided ? 'denied' : 'undecided'
}

/** The flows, with the access that each has now, as `GET /traffic` says it. */
export const classified = async (place: Place, flows: readonly Flow[], ports: (to: string) => readonly number[]) => {
  const passes = async (from: string, to: string): Promise<Verdict[]> =>
    await Promise.all(ports(to).map((port) => explain(place, { from, to, port, via: 'service' })))
  const accessOf = async ({ from, to }: Flow): Promise<AccessNow> => {
    if ((await passes('unknown', to)).includes('allowed')) return 'open'
    const verdicts = from === 'unknown' ? [] : await passes(from, to)
    if (verdicts.includes('allowed')) return 'allowed'
    return verdicts.includes('undecided') ? 'unknown' : 'none'
  }
  const all: Classified[] = []
  for (const flow of flows)
    all.push({ ...flow, relations: [], access: await accessOf(flow), class: 'allowed and used' })
  return all
}

/** What is proposed for `shop` when this traffic was seen. */
export const proposeIn = async (place: Place, flows: readonly Classified[], wanted: Wanted = {}): Promise<Proposed> => {
  const { transport, clock } = place
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
  const reading = { memories: features.memories, kubernetes, sees: async () => true }
  const cluster = await readCluster(
    reading,
    'shop',
    flows.map(({ from }) => from),
  )
  return propose({ window: '24h', flows, coveredSeconds: 86_400 }, cluster, wanted)
}

/** Applies documents one after another, as `kubectl apply -f` does, and lets everything follow. */
export const applyDocuments = async (place: Place, { documents }: Pick<Proposed, 'documents'>): Promise<void> => {
  for (const { document } of documents) {
    const object = apply(place, document)
    const sent = sourceEvent({ type: 'ADDED', object })
    if (sent) await place.happen(sent)
  }
}

const apply = ({ api }: Place, document: KubernetesObject): KubernetesObject => {
  const { namespace, name } = document.metadata
  return send(api, `/api/v1/namespaces/${namespace}/configmaps/${name}?fieldManager=kubectl&force=true`, document)
}

const send = (api: Place['api'], path: string, object: object): KubernetesObject => {
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const { status, body } = api.handle({ method: 'PATCH', path, headers, body: JSON.stringify(object) })
  if (status >= 300) throw new Error(body)
  return JSON.parse(body)
}
