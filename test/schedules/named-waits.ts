import { CONFIGS } from './fixture.ts'
import { CONFIGURED, client, config, configOf, forgotten, MEMORY_WRITE, mesh, type Named, removed } from './script.ts'
import { objectNamed } from './world.ts'

/** The config of details with a label of its own. */
const LABELLED = configOf('details', { ...CONFIGS.details, labels: { team: 'blue' } })

const memoryOf = (state: unknown): Record<string, unknown> =>
  JSON.parse(String(state ?? '{}')) as Record<string, unknown>

/** What waits for others, and for whom nobody needs to. */
export const waitHistories: readonly Named[] = [
  {
    name: 'a beacon whose relation is over before its consumer has looked goes, though the consumer carries a label of its own',
    act: async ({ say, sayOnly, lose }) => {
      await say(config('beacon'), LABELLED)
      await sayOnly(mesh().told('beacon'))
      await sayOnly(mesh().ended('beacon'))
      lose('details')
      await say(removed('beacon'))
    },
    end: { resync: 'beacon' },
    check: ({ run, expect }) =>
      expect(
        objectNamed(run.world.api, 'Gateway', 'shop-beacon-waypoint') === undefined,
        'the Gateway of the removed beacon stays',
      ),
  },
  {
    name: 'a config that is told first after both memories were lost takes no access from a client that nobody ended',
    act: ({ say }) =>
      say(
        ...[...CONFIGURED, mesh().told('details')],
        ...[forgotten('details'), forgotten('productpage'), config('details')],
      ),
    end: { resync: 'details' },
    check: ({ run, expect }) => {
      const policies = run.world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
      expect(JSON.stringify(policies).includes('/sa/productpage'), 'productpage has lost its access')
    },
    isOdd: true,
  },
  {
    name: 'a client whose relation its own platform alone has ended loses its access after the provider lost its memory',
    act: async ({ say, sayOnly, lose }) => {
      await say(config('beacon'), mesh().told('details'), client().told('productpage'), config('details'))
      await sayOnly(client().ended('productpage'))
      lose('details')
      await say(forgotten('details'), mesh().told('details'), config('details'))
    },
    end: { resync: 'details' },
    check: ({ run, expect }) => {
      const policies = run.world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
      expect(!JSON.stringify(policies).includes('/sa/productpage'), 'productpage keeps its access')
    },
    isOdd: true,
  },
  {
    name: 'an end that a client tells a lost memory before its config is remembered until that is told',
    act: async ({ say, sayOnly }) => {
      await say(config('beacon'), mesh().told('beacon'), client().told('details'), config('details'))
      await sayOnly(client().ended('productpage'))
      await say(forgotten('details'), config('details'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'an application that was never on a mesh waits for nobody when its memory is lost',
    act: ({ say }) => say(LABELLED, forgotten('details'), LABELLED),
    end: { resync: 'details' },
    check: ({ run, expect }) => {
      const memory = objectNamed(run.world.api, 'ConfigMap', 'juju-service-mesh-details-labels')
      const { carried } = memoryOf((memory as { data?: { state?: string } } | undefined)?.data?.state)
      expect(carried === undefined, 'the memory counts details as on a mesh')
    },
    isOdd: true,
  },
  {
    name: 'a namespace leaves the mesh for the labels of a consumer that its beacon learns of after it began to wait for them',
    act: async ({ run: { world }, say, send, start, runTo, runOut, quiet }) => {
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }), config('details'), mesh().told('details'))
      const [off] = send(config('beacon'))
      const beacon = off && (await start(off))
      if (beacon === undefined) return
      await runTo(beacon, MEMORY_WRITE)
      await world.step(beacon)
      // it has published its offer, and is about to save that it waits
      await runTo(beacon, MEMORY_WRITE)
      const [told] = send(config('details'))
      if (told) await runOut(await start(told))
      await runOut(beacon)
      await quiet()
    },
    end: 'nothing',
  },
]
