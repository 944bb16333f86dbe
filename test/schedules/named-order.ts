import { SWITCHED } from './abilities.ts'
import type { Actor } from './actor.ts'
import { CONFIGS, OTHER_SERVICE } from './fixture.ts'
import { labelsOn } from './monitor.ts'
import type { KubernetesObject } from './process.ts'
import { sendResync } from './properties.ts'
import {
  CONFIGURED,
  client,
  cluster,
  config,
  configOf,
  find,
  forgotten,
  isAdmitted,
  LABEL_WRITE,
  MEMORY_WRITE,
  mesh,
  type Named,
  POLICY_WRITE,
  removed,
  type Script,
} from './script.ts'

const ON = [...CONFIGURED, mesh().told('details')]

const isOnMesh = (object: KubernetesObject | undefined, label = 'istio.io/dataplane-mode'): boolean =>
  object !== undefined && Object.hasOwn(labelsOn(object), label)

const WAYPOINT = 'shop-beacon-waypoint'

/** A coordinator with a worker, and a beacon. */
const CLUSTER = [config('beacon'), config('tempo'), config('querier'), cluster().told('querier')]

const startResync = async ({ run: { world }, start }: Script, application: string): Promise<Actor> => {
  const before = [...world.network]
  sendResync(world, application)
  const letter = world.network.find((one) => !before.includes(one))
  if (letter === undefined) throw new Error('no resync was sent')
  return await start(letter)
}

/** A step that nothing follows from yet. */
const resyncAlone = async (script: Script, application: string): Promise<void> =>
  await script.runOut(await startResync(script, application))

/** From here on the worker may not be on the mesh without policies of its cluster. */
const guardWorker = (script: Script): void => {
  script.run.world.api.subscribe(() => {
    const isOn = isOnMesh(find(script, 'StatefulSet', 'querier'))
    const objects = script.run.world.api.objects()
    const isGuarded = objects.some(
      ({ kind, metadata }) => kind === 'AuthorizationPolicy' && metadata.name.includes('-selector-'),
    )
    script.expect(!isOn || isGuarded, 'the worker is on the mesh without policies')
  })
}

/** From here on productpage may not be refused while details is enrolled, also where a memory was deleted. */
const guard = (script: Script): void => {
  script.run.world.api.subscribe(({ object }) => {
    if (object.kind !== 'AuthorizationPolicy' || !isOnMesh(find(script, 'StatefulSet', 'details'))) return
    script.expect(isAdmitted(script, 'productpage'), 'productpage is refused while details is enrolled')
  })
}

const OTHER_WRITE = new RegExp(`^PATCH .*/services/${OTHER_SERVICE}`)

const HERE = { type: 'app', relation: 'details', endpoints: [] }
const READ = { ...HERE, service: OTHER_SERVICE, endpoints: [{ methods: ['GET'] }] }

/** From here on no Service leads to the waypoint without a policy of its own. */
const watchOther = (script: Script): void => {
  script.run.world.api.subscribe(({ object: { kind } }) => {
    if (!['Service', 'AuthorizationPolicy'].includes(kind)) return
    const isLed = isOnMesh(find(script, 'Service', OTHER_SERVICE))
    script.expect(!isLed || isGuarded(script, OTHER_SERVICE), `anybody may reach ${OTHER_SERVICE}`)
  })
}

const isGuarded = ({ run: { world } }: Script, service: string): boolean =>
  world.api.objects().some(({ kind, spec }) => {
    const { targetRefs = [] } = (spec ?? {}) as { targetRefs?: { name: string }[] }
    return kind === 'AuthorizationPolicy' && targetRefs.some(({ name }) => name === service)
  })

/** The order of effect between applications: what allows stands for as long as something is enrolled. */
export const orderHistories: readonly Named[] = [
  {
    name: 'a policy that a person deletes while the waypoint goes is there again until nothing leads to the waypoint',
    act: async ({ say, send }) => {
      const [[on, off] = [], [declared] = []] = [SWITCHED.beacon, SWITCHED.details]
      await say(configOf('beacon', { ...on }), configOf('details', { ...declared }), client().told('details'))
      await say(mesh().told('details'))
      send({ kind: 'hand', side: 'details', hand: { does: 'deletes a policy', nth: 1 } })
      await say(configOf('beacon', { ...off }))
    },
  },
  {
    name: 'a waypoint stays for a consumer that takes its labels while its beacon is being removed',
    act: async (script) => {
      const { run, say, sayOnly, send, start, runTo, runOut, expect } = script
      await say(...CONFIGURED)
      await sayOnly(mesh().told('beacon'))
      const [offered] = run.world.network
      const [gone] = send(removed('beacon'))
      const beacon = gone && (await start(gone))
      if (beacon) await runTo(beacon, /^PUT .*beacon-labels/)
      const details = offered && (await start(offered))
      if (details) await runTo(details, LABEL_WRITE)
      run.world.api.subscribe(({ type, object: { kind } }) => {
        const isLed = isOnMesh(find(script, 'Service', 'details'))
        if (kind === 'Gateway' && type === 'DELETED') expect(!isLed, 'a Service leads to a waypoint that is gone')
      })
      if (beacon) await runOut(beacon)
      if (details) await runOut(details)
    },
  },
  {
    name: 'a waypoint that is to go stays for a consumer that takes its labels while its beacon hears of that',
    act: async ({ say, send, sayOnly, start, runTo, runOut, quiet }) => {
      const [[on, off] = [], [declared] = []] = [SWITCHED.beacon, SWITCHED.details]
      await say(configOf('beacon', { ...off }), configOf('details', { ...declared }), client().told('details'))
      await say(mesh().told('details'))
      await sayOnly(configOf('beacon', { ...on }))
      const [less] = send(configOf('beacon', { ...off }))
      const slow = less && (await start(less))
      if (slow) await runTo(slow, /^PUT .*beacon-labels/)
      await quiet()
      if (slow) await runOut(slow)
    },
  },
  {
    name: 'a Service that a policy names, and names no more, leads to the waypoint only while that policy stands',
    act: async (script) => {
      const { say, expect } = script
      await say(config('beacon'), configOf('details', { policies: [HERE] }), client().told('details'))
      await say(mesh().told('details'))
      watchOther(script)
      await say(configOf('details', { policies: [HERE, READ] }))
      expect(isOnMesh(find(script, 'Service', OTHER_SERVICE)), `${OTHER_SERVICE} is not led to the waypoint`)
      await say(configOf('details', { policies: [HERE, { type: 'unit', relation: 'details' }] }))
      expect(!isGuarded(script, OTHER_SERVICE), `the policy of ${OTHER_SERVICE} stays`)
    },
    end: 'nothing',
  },
  {
    name: 'a process that is about to lead a Service to the waypoint stalls, and another one hears that no policy names it any more',
    act: async (script) => {
      const { say, send, start, quiet, quietTo, runTo, runOut, run } = script
      await say(config('beacon'), configOf('details', { policies: [HERE] }), client().told('details'))
      await say(mesh().told('details'))
      watchOther(script)
      send(configOf('details', { policies: [HERE, READ] }))
      const leading = await quietTo(OTHER_WRITE)
      const [less] = send(configOf('details', { policies: [HERE] }))
      if (leading === undefined || less === undefined) return
      const leaving = await start(less)
      await runTo(leaving, MEMORY_WRITE)
      await run.world.step(leaving)
      for (const letter of send(config('beacon'))) await runOut(await start(letter))
      await run.world.step(leading)
      await runOut(leaving)
      await runOut(leading)
      await quiet()
    },
  },
  {
    name: 'a consumer does not enrol by a grant that is being revoked',
    act: async ({ say, send, start, runOut, quietTo, run: { world } }) => {
      await say(...CONFIGURED)
      send(mesh().told('details'))
      const enrolling = await quietTo(LABEL_WRITE)
      for (const letter of send(mesh().ended('beacon'))) await runOut(await start(letter))
      for (const letter of world.network.filter(({ application }) => application === 'beacon'))
        await runOut(await start(letter))
      if (enrolling) await runOut(enrolling)
    },
  },
  {
    name: 'a consumer that leaves, asks for less meanwhile, and comes back as it was, waits until that is granted again',
    act: async ({ say, send, start, runOut, quiet, run: { world } }) => {
      await say(...CONFIGURED, mesh().told('beacon'))
      const [less] = send(client().ended('details'))
      const [leaves] = send(mesh().ended('beacon'))
      if (less) await runOut(await start(less))
      if (leaves) await runOut(await start(leaves))
      const [left] = world.network.filter(({ application }) => application === 'details')
      if (left) await runOut(await start(left))
      for (const letter of [...send(client().told('details')), ...send(mesh().told('details'))])
        await runOut(await start(letter))
      await quiet()
    },
  },
  {
    name: 'a consumer that has saved that it enrols, and sees its grant go, waits for the next one',
    act: async ({ say, sayOnly, send, start, runTo, runOut, run: { world } }) => {
      await say(...ON)
      await sayOnly(mesh().ended('details'))
      // the beacon has yet to hear of the end
      const [, told] = [...world.network, ...send(mesh().told('details'))]
      const [ended] = world.network
      if (ended === undefined || told === undefined) return
      const enrolling = await start(told)
      await runTo(enrolling, MEMORY_WRITE)
      const revoking = await start(ended)
      await runTo(revoking, POLICY_WRITE)
      await world.step(enrolling)
      await runOut(revoking)
      await runOut(enrolling)
    },
  },
  {
    name: 'a consumer that enrols, dies before it has saved that, and asks for more, stays on the mesh',
    act: async (script) => {
      const { say, send, quietTo, expect, run } = script
      const { world } = run
      await say(...CONFIGURED)
      send(mesh().told('details'))
      const enrolling = await quietTo(LABEL_WRITE)
      if (enrolling === undefined) return
      await world.step(enrolling)
      const letter = world.crash(enrolling, false)
      if (letter) world.lose(letter)
      expect(isOnMesh(find(script, 'StatefulSet', 'details')), 'details does not enrol')
      world.api.subscribe(({ object: { kind, metadata } }) => {
        if (kind !== 'StatefulSet' || metadata.name !== 'details') return
        expect(isOnMesh(find(script, 'StatefulSet', 'details')), 'details leaves the mesh')
      })
      await say(client(13, 'reviews').told('details'))
    },
  },
  ...(['goes on', 'dies, and its write lands late'] as const).map(
    (fate): Named => ({
      name: `a beacon that means to revoke stalls, another one grants, and the first ${fate}`,
      act: async ({ say, send, runOut, quietTo, quiet, run: { world } }) => {
        await say(...ON)
        send(mesh().ended('beacon'))
        const revoking = await quietTo(POLICY_WRITE)
        send(mesh().told('beacon'))
        await quiet()
        if (revoking === undefined) return
        if (fate === 'goes on') await runOut(revoking)
        else {
          const letter = world.crash(revoking, true)
          if (letter) world.lose(letter)
          for (const call of [...world.late]) world.makeLate(call)
        }
      },
      end: { resync: 'details' },
    }),
  ),
  {
    name: 'a beacon dies over making a policy, others make it and widen it, and its late write changes nothing',
    act: async ({ say, send, quietTo, quiet, run: { world } }) => {
      await say(...CONFIGURED)
      send(mesh().told('details'))
      const making = await quietTo(POLICY_WRITE)
      if (making) await world.step(making)
      if (making) world.crash(making, true)
      await quiet()
      await say(client(13, 'reviews').told('details'))
      for (const call of [...world.late]) world.makeLate(call)
    },
    end: 'nothing',
  },
  {
    name: 'a consumer that leaves while another process labels its pods unlabels the Service last',
    act: async ({ say, send, start, runTo, runOut, quietTo, run: { world } }) => {
      await say(...CONFIGURED)
      send(mesh().told('details'))
      const enrolling = await quietTo(LABEL_WRITE)
      const [ended] = send(mesh().ended('details'))
      if (enrolling === undefined || ended === undefined) return
      const leaving = await start(ended)
      await runTo(leaving, MEMORY_WRITE)
      await world.step(enrolling)
      await runTo(leaving, LABEL_WRITE)
      await runOut(leaving)
      await runOut(enrolling)
    },
  },
  ...(['beacon', 'details'] as const).map(
    (side): Named => ({
      name: `a label that is written late, after the relation ended, goes with a resync of ${side}`,
      act: async ({ say, send, quietTo, quiet, run: { world } }) => {
        await say(...CONFIGURED)
        send(mesh().told('beacon'))
        const enrolling = await quietTo(LABEL_WRITE)
        const letter = enrolling && world.crash(enrolling, true)
        await quiet()
        if (letter && world.network.includes(letter)) world.lose(letter)
        await say(mesh().ended('beacon'))
        for (const call of [...world.late]) world.makeLate(call)
      },
      end: { resync: side },
    }),
  ),
  {
    name: 'a consumer is allowed before it is enrolled when the relation is told to the beacon alone',
    act: ({ say }) => say(...CONFIGURED, mesh().told('beacon')),
    end: 'nothing',
  },
  {
    name: 'a consumer is off the mesh before its policies go when the beacon hears first of the end',
    act: ({ say }) => say(...ON, mesh().ended('beacon')),
    end: 'nothing',
  },
  ...(['tempo', 'beacon'] as const).map(
    (side): Named => ({
      name: `a coordinator leaves the mesh, told to ${side}: its policies go once its worker is off the mesh`,
      variant: 'chain',
      act: async (script) => {
        const { say, expect, run } = script
        const configs = [config('beacon'), config('tempo'), config('querier')]
        await say(...configs, cluster().told('querier'), mesh(1, 'tempo').told('tempo'))
        expect(isOnMesh(find(script, 'StatefulSet', 'querier')), 'the worker is not on the mesh')
        run.world.api.subscribe(({ type, object }) => {
          // what the beacon made for the coordinator goes once that is off the mesh itself
          const isOwn = object.kind === 'AuthorizationPolicy' && object.metadata.name.startsWith('tempo-')
          if (!isOwn || type !== 'DELETED') return
          const isOn = ['tempo', 'querier'].some((name) => isOnMesh(find(script, 'StatefulSet', name)))
          expect(!isOn, `${object.metadata.name} goes while the cluster is on the mesh`)
        })
        await say(mesh(1, 'tempo').ended(side))
        const left = run.world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
        expect(left.length === 0, `${left.length} policies are left`)
      },
      end: 'nothing',
    }),
  ),
  {
    name: 'a beacon that dies over removing its waypoint offers it again once its late removal cannot reach it any more',
    act: async (script) => {
      const { say, send, start, runTo, runOut, quietTo, lose, expect, run } = script
      await say(...ON)
      send(configOf('beacon', { workload: null, service: null }))
      const dying = await quietTo(/^DELETE .*\/gateways/)
      if (dying) run.world.crash(dying, true)
      lose()
      const [told] = send(config('beacon'))
      const again = told && (await start(told))
      if (again === undefined) return
      await runTo(again, MEMORY_WRITE)
      await run.world.step(again)
      await resyncAlone(script, 'details')
      for (const call of [...run.world.late]) run.world.makeLate(call)
      const isLed = isOnMesh(find(script, 'StatefulSet', 'details'))
      expect(!isLed || find(script, 'Gateway', WAYPOINT) !== undefined, 'details is led to a waypoint that is gone')
      await runOut(again)
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a coordinator that dies over removing the policies of its cluster hands labels on once its late removal cannot reach them any more',
    variant: 'chain',
    act: async (script) => {
      const { say, sayOnly, send, runTo, runOut, quietTo, lose, expect, run } = script
      await say(...CLUSTER, mesh(1, 'tempo').told('tempo'))
      expect(isOnMesh(find(script, 'StatefulSet', 'querier')), 'the worker is not on the mesh')
      send(mesh(1, 'tempo').ended('tempo'))
      const dying = await quietTo(/^DELETE .*\/tempo-shop-policy-selector/)
      if (dying) run.world.crash(dying, true)
      lose()
      await sayOnly(mesh(11, 'tempo').told('beacon'))
      lose()
      guardWorker(script)
      const again = await startResync(script, 'tempo')
      await runTo(again, MEMORY_WRITE)
      await run.world.step(again)
      await resyncAlone(script, 'querier')
      for (const call of [...run.world.late]) run.world.makeLate(call)
      await runOut(again)
    },
    end: { resync: undefined },
  },
  {
    name: 'a coordinator whose late policies stand already hands labels on once its claim to them is saved',
    variant: 'chain',
    act: async (script) => {
      const { say, sayOnly, send, runTo, runOut, quietTo, lose, expect, run } = script
      await say(...CLUSTER)
      send(mesh(1, 'tempo').told('tempo'))
      const dying = await quietTo(/^PATCH .*\/authorizationpolicies/)
      if (dying) run.world.crash(dying, true)
      lose()
      // those of pods come after the Service is led
      const next = await startResync(script, 'tempo')
      await runTo(next, /^PATCH .*\/tempo-shop-policy-selector/)
      run.world.crash(next, true)
      lose()
      await say(mesh(1, 'tempo').ended('tempo'))
      for (const call of [...run.world.late]) run.world.makeLate(call)
      await sayOnly(mesh(11, 'tempo').told('beacon'))
      lose()
      const taking = await startResync(script, 'tempo')
      await runTo(taking, MEMORY_WRITE)
      await sayOnly(configOf('beacon', { workload: null, service: null }))
      expect(find(script, 'Gateway', WAYPOINT) === undefined, 'the waypoint stays')
      await run.world.step(taking)
      await resyncAlone(script, 'querier')
      expect(!isOnMesh(find(script, 'StatefulSet', 'querier')), 'the worker is led to a waypoint that is gone')
      await runOut(taking)
    },
    end: { resync: undefined },
  },
  {
    name: 'a coordinator takes labels of a waypoint back at once, also where it goes on after a step that died',
    variant: 'chain',
    act: async (script) => {
      const { say, sayOnly, send, runTo, runOut, quietTo, lose, expect, run } = script
      await say(config('beacon'), config('tempo'), config('querier'))
      for (const fact of [cluster().told('tempo'), mesh(1, 'tempo').told('tempo')]) {
        await sayOnly(fact)
        lose()
      }
      for (const side of ['beacon', 'tempo']) await resyncAlone(script, side)
      lose()
      send(configOf('tempo', { ...CONFIGS.tempo, labels: { team: 'blue' } }))
      const dying = await quietTo(/^PATCH .*\/statefulsets\/tempo/)
      if (dying) run.world.crash(dying, false)
      await sayOnly(configOf('beacon', { mesh: { waypoint: false }, workload: null, service: null }))
      lose()
      const next = await startResync(script, 'tempo')
      for (const _ of ['saves', 'records']) {
        await runTo(next, MEMORY_WRITE)
        await run.world.step(next)
      }
      for (const side of ['beacon', 'querier']) await resyncAlone(script, side)
      expect(
        !isOnMesh(find(script, 'Service', 'querier'), 'istio.io/use-waypoint') ||
          find(script, 'Gateway', WAYPOINT) !== undefined,
        'the worker is led to a waypoint that is gone',
      )
      await runOut(next)
    },
    end: { resync: undefined },
  },
  {
    name: 'the memory of details is lost, and its config comes first: nobody is refused meanwhile',
    act: async (script) => {
      await script.say(...ON, forgotten('details'))
      guard(script)
      await script.say(config('details'))
    },
  },
  {
    name: 'the memory of details is lost, and its relation comes first, without a config: nobody is refused meanwhile',
    act: async (script) => {
      await script.say(...ON, forgotten('details'))
      guard(script)
      await script.say(mesh().told('details'))
    },
  },
  {
    name: 'the memory of details is lost, and a resync comes first: nobody is refused meanwhile',
    act: async (script) => {
      await script.say(...ON, forgotten('details'))
      guard(script)
      await script.resync('details')
    },
  },
  {
    name: 'the namespace comes off the mesh when its consumers hold their own labels',
    act: async (script) => {
      const { say, expect, run } = script
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }), ...CONFIGURED.slice(1), mesh().told('details'))
      run.world.api.subscribe(({ object }) => {
        if (object.kind !== 'Namespace' || object.metadata.name !== 'shop' || isOnMesh(object)) return
        expect(isOnMesh(find(script, 'StatefulSet', 'details')), 'neither the namespace nor details is on the mesh')
      })
      await say(config('beacon'))
    },
  },
  {
    name: 'a consumer leaves its beacon while the namespace waits for its labels: it is not guarded any more, though it stays on the mesh until then',
    act: async (script) => {
      const { say, sayOnly, quiet, expect } = script
      const isNamespaceOnMesh = () => isOnMesh(find(script, 'Namespace', 'shop'))
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }), ...CONFIGURED.slice(1), mesh().told('details'))
      await sayOnly(config('beacon'))
      await sayOnly(mesh().ended('details'))
      expect(isNamespaceOnMesh(), 'the namespace has not waited')
      await quiet()
      expect(!isNamespaceOnMesh(), 'the namespace stays on the mesh')
    },
    end: 'nothing',
  },
  {
    name: 'a consumer joins before hardened mode is there, which closes what no policy of its own does',
    act: async ({ say }) => {
      await say(mesh().told('details'), configOf('details', { policies: [{ type: 'unit', relation: 'details' }] }))
      await say(client().told('details'), configOf('beacon', { mesh: { hardened: true } }))
    },
    end: 'nothing',
  },
  {
    name: 'hardened mode stays while a further consumer joins',
    act: async ({ say }) => {
      await say(configOf('beacon', { mesh: { hardened: true } }), mesh().told('details'))
      await say(
        configOf('details', { policies: [{ type: 'unit', relation: 'details' }] }),
        mesh(2, 'reviews').told('reviews'),
      )
    },
    end: 'nothing',
  },
  {
    name: 'one config that takes an application off the mesh and drops its policy does so in this order',
    act: async (script) => {
      const { say } = script
      const labels = { 'istio.io/dataplane-mode': 'ambient' }
      const policy = {
        source_namespace: 'shop',
        source_app_name: 'productpage',
        target_namespace: 'shop',
        target_app_name: 'details',
        target_selector_labels: null,
        target_service: null,
        target_type: 'app',
        endpoints: [],
      }
      await say(client().told('details'), configOf('details', { labels, meshPolicies: [policy] }))
      guard(script)
      await say(configOf('details', {}))
    },
    isOdd: true,
  },
  {
    name: 'a namespace joins the mesh after the policies of a consumer are gone whose relation ends meanwhile',
    act: async ({ say, sayOnly, quiet }) => {
      await say(configOf('beacon', { mesh: { waypoint: false } }), mesh().told('beacon'))
      await say(client().told('details'), configOf('details', SWITCHED.details?.[0] ?? {}))
      await sayOnly(configOf('beacon', { mesh: { modelOnMesh: true } }))
      await sayOnly(mesh().ended('beacon'))
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'an application that leaves one beacon, and stays on the mesh with the namespace of another one, refuses nobody',
    act: async ({ say }) => {
      const modelOnMesh = configOf('beacon', { mesh: { modelOnMesh: true }, workload: null, service: null })
      await say(config('lantern'), modelOnMesh, client().told('details'), config('details'))
      await say(mesh(21, 'details', 'lantern').told('details'), mesh(21, 'details', 'lantern').ended('details'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a beacon whose removal comes before everything else of it is removed once that is told again',
    act: async ({ send, start, runOut, quiet, run }) => {
      send(config('beacon'))
      send(mesh().told('beacon'))
      const [last] = send(removed('beacon'))
      if (last) await runOut(await start(last))
      await quiet()
      if (last) run.world.network.push({ ...last, name: `${last.name}, redelivered`, attempts: 0 })
      await quiet()
    },
    end: { resync: 'details' },
  },
]
