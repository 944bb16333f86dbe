import type { Proposal } from '../../../src/ask/preview/input.ts'
import { createPreview, type Plan, type Preview } from '../../../src/ask/preview/preview.ts'
import type { Authenticate } from '../../../src/core/access/authenticate.ts'
import type { EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import { features } from '../../../src/features.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { sourceEvent } from '../../../src/platform/cloudevents/knative/source-event.ts'
import { createKubernetes, type Transport } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { functions } from '../../helpers/functions.ts'
import { createWorld, event, service, type World, workload } from '../../helpers/world.ts'

/** Applications in `shop`, an Istio, and the sources of Knative: what a cluster does by itself. */
export type Place = World & {
  readonly preview: Preview
  readonly transport: Transport
  plan(proposal: Partial<Proposal>): Promise<Plan>
  /** Sends an event, and all that the cluster's sources send in turn, until those that wait have looked again. */
  happen(sent: Event): Promise<void>
}

export const createPlace = (
  applications: readonly string[],
  { authenticate, intercept, base }: { authenticate?: Authenticate; intercept?: Transport; base?: EmbeddedApi } = {},
): Place => {
  const world = createWorld(
    applications.flatMap((name) => [workload('StatefulSet', name), service(name)]),
    { isOwnSink: true, ...(base && { base }) },
  )
  const { api, clock } = world
  startIstio({ api })
  const queued: Event[] = []
  api.subscribe((change) => queued.push(...[sourceEvent(change) ?? []].flat()))
  const transport: Transport = intercept ?? (async (request) => api.handle(request))
  const preview = createPreview({
    features,
    functions,
    transport,
    connect: (deadline) => createKubernetes({ transport, clock, deadline }),
    authenticate,
    clock,
    environment: { resolver: '10.96.0.10' },
    timeoutMilliseconds: 20_000,
  })

  const settle = async (): Promise<void> => {
    for (let next = queued.shift(); next !== undefined; next = queued.shift()) await world.post(next)
  }
  const waiting = new Set<string>()
  const send = async (sent: Event): Promise<boolean> => {
    const response = await world.post(sent)
    const {
      status = '',
      application = '',
      effects = [],
    } = (await response.json()) as Partial<Step> & { effects?: Step[] }
    const steps = [{ status, application }, ...effects]
    for (const step of steps) {
      if (step.status === 'waiting') waiting.add(step.application)
      else waiting.delete(step.application)
    }
    await settle()
    return steps.some((step) => !['unchanged', 'waiting'].includes(step.status))
  }

  return {
    ...world,
    preview,
    transport,
    plan: (proposal) => preview({ events: [], objects: [], expectations: [], ...proposal }, {}),
    happen: async (sent) => {
      queued.splice(0)
      waiting.clear()
      await send(sent)
      for (let looks = 0, isMoving = true; looks < 3 && isMoving; looks += 1) {
        isMoving = false
        for (const application of waiting) isMoving = (await send(event('resync', { application }))) || isMoving
      }
    },
  }
}

type Step = { readonly status: string; readonly application: string }

/** What is written of objects, by name: but for pods, memories, and what Istio makes. */
export const written = (objects: readonly KubernetesObject[]): Record<string, unknown> =>
  Object.fromEntries(
    objects
      .filter(
        ({ kind, metadata: { name, ownerReferences = [] } }) =>
          kind !== 'Pod' &&
          !name.startsWith('juju-service-mesh-') &&
          !(ownerReferences as { kind: string }[]).some((owner) => owner.kind === 'Gateway'),
      )
      .map(({ kind, apiVersion, spec, data, metadata: { namespace, name, labels, annotations } }) => [
        `${kind} ${[namespace, name].filter((part) => part !== undefined).join('/')}`,
        { kind, apiVersion, spec: withoutDefault(spec), data, labels, annotations },
      ]),
  )

/** Metrics are the one default of an API server in what steps write. A plan has none. */
const withoutDefault = (spec: KubernetesObject['spec']): KubernetesObject['spec'] => {
  const { metrics: _, ...others } = spec ?? {}
  return spec && others
}
