import { Failure } from '../../../src/cli/failure.ts'
import { askJuju } from '../../../src/cli/juju/ask.ts'
import type { ConfigOption } from '../../../src/cli/juju/config.ts'
import { type Round, takeRound } from '../../../src/cli/juju/round.ts'
import type { RunJuju } from '../../../src/cli/juju/run.ts'
import { startWaypoints } from '../../../src/embedded/demo/istio.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { sourceEvent } from '../../../src/platform/cloudevents/knative/source-event.ts'
import { createKubernetes, type Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createWorld, type Intercept, NAMESPACE, service, type World, workload } from '../../helpers/world.ts'
import { answer, type World as Juju } from './stand-in.ts'

/** Runs the stand-in in this process. */
export const runStandIn =
  (juju: Juju): RunJuju =>
  async (args) => {
    const { code, stdout, stderr } = answer(juju, args)
    if (code !== 0) throw new Failure(`juju ${args.join(' ')}: ${stderr.replace('ERROR ', '').trim()}`)
    return stdout
  }

export type Followed = {
  readonly world: World
  readonly kubernetes: Kubernetes
  /** Follows the model once, and lets the functions see what was written. */
  round(): Promise<Round>
  /** Why the functions cannot be told of an end. */
  refuse(application: string): string | undefined
  /** Answers the command in place of the API server. */
  intercept: Intercept | undefined
  documents(): KubernetesObject[]
}

/** A namespace whose documents follow a model of Juju, with workloads for its applications, functions and the waypoints of Istio. */
export const followed = (
  juju: Juju,
  applications: readonly string[],
  { name = NAMESPACE, config = [] }: { name?: string; config?: readonly ConfigOption[] } = {},
): Followed => {
  const objects = applications.flatMap((application) => [workload('StatefulSet', application), service(application)])
  const world = createWorld(objects, { isOwnSink: true })
  startWaypoints({ api: world.api })
  const waiting: Event[] = []
  world.api.subscribe((change) => {
    const event = change.object.kind === 'ConfigMap' ? sourceEvent(change) : undefined
    if (event) waiting.push(event)
  })
  const kubernetes = createKubernetes({
    transport: async (request) => (await one.intercept?.(request)) ?? world.api.handle(request),
    clock: world.clock,
    deadline: Number.MAX_SAFE_INTEGER,
  })
  const one: Followed = {
    world,
    kubernetes,
    refuse: () => undefined,
    intercept: undefined,
    round: async () => {
      const answer = await askJuju(runStandIn(juju), name, config)
      const done = await takeRound(kubernetes, answer, { withPeers: false }, async (namespace, application) => {
        const refusal = one.refuse(application)
        if (refusal !== undefined) throw new Failure(refusal)
        await world.send('application-removed', {}, { data: { namespace, application } })
      })
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) await world.post(event)
      return done
    },
    documents: () =>
      world.api
        .objects()
        .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.labels?.['meshstep.dev/kind'] === 'relation'),
  }
  return one
}
