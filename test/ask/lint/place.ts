import type { Finding } from '../../../src/ask/lint/finding.ts'
import type { EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createLint } from '../../../src/serve/http/lint.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'
import { createPlace, type Place } from '../preview/planned.ts'

export const DB = { application: 'db' }
export const WEB = { application: 'web' }
export const APP = { type: 'app', relation: 'use', endpoints: [{ ports: [80], methods: ['GET'] }] }

const made = new Map<string, Promise<EmbeddedApi>>()

/** `web` may GET of `db`, over relation 3: in a copy of a cluster that events have made once. */
export const granted = async (config: Record<string, unknown> = { policies: [APP] }, mesh = {}): Promise<Place> => {
  const key = JSON.stringify([config, mesh])
  const base = made.get(key) ?? make(config, mesh)
  made.set(key, base)
  return createPlace([], { base: await base })
}

const make = async (config: Record<string, unknown>, mesh: object): Promise<EmbeddedApi> => {
  const place = createPlace(['db', 'web'])
  for (const [type, data] of [
    ['config-changed', { application: 'beacon', config: { mesh } }],
    ['config-changed', { ...DB, config }],
    ['relation-changed', requires(1, DB)],
    ['relation-changed', requires(2, WEB)],
    ['relation-changed', related(3, 'use', WEB, DB)],
  ] as const)
    await place.happen(event(type, data))
  return place.api
}

/** As `granted`, where Istio's own config can be read. */
export const grantedWithIstio: typeof granted = async (...how) => {
  const place = await granted(...how)
  place.api.seed([istioConfig])
  return place
}

const connectTo =
  ({ api, clock }: Place) =>
  (deadline: number) =>
    createKubernetes({ transport: async (request) => api.handle(request), clock, deadline })

/** Asks where Istio has its own config, unless the place has another one, or is said to have none. */
export const lintOf = async (place: Place, { hasConfig = true } = {}): Promise<Finding[]> => {
  const isConfig = ({ kind, metadata }: { kind: string; metadata: { namespace?: string } }) =>
    kind === 'ConfigMap' && metadata.namespace === 'istio-system'
  if (hasConfig && !place.api.objects().some(isConfig)) place.api.seed([istioConfig])
  return await createLint({
    ...{ features, connect: connectTo(place), clock: place.clock, timeoutMilliseconds: 10_000 },
    environment: { resolver: '10.96.0.10' },
  })(new URLSearchParams({ namespace: 'shop' }), undefined)
}

export const policy = (name: string, spec: Record<string, unknown>): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name, namespace: 'shop' },
  spec,
})
export const forService = (name: string) => ({ targetRefs: [{ group: '', kind: 'Service', name }] })
export const forPods = (name: string) => ({ selector: { matchLabels: { 'app.kubernetes.io/name': name } } })
