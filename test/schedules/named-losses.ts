import type { Actor } from './actor.ts'
import type { Fact } from './facts.ts'
import { clientRelation, terse } from './fixture.ts'
import { labelsOn } from './monitor.ts'
import {
  CONFIGURED,
  client,
  cluster,
  config,
  configOf,
  forgotten,
  mesh,
  type Named,
  POLICY_WRITE,
  removed,
  type Script,
} from './script.ts'
import type { Letter } from './world.ts'

const ON = [...CONFIGURED, mesh().told('details')]

const EITHER = ['details', 'beacon'] as const

/** The first process of `side` that hears of the relation. */
const startFirst = async (script: Script, side: 'details' | 'beacon'): Promise<Actor | undefined> => {
  const { send, start, runOut, run } = script
  const [told] = send(mesh().told('details'))
  const first = told && (await start(told))
  if (side === 'details' || first === undefined) return first
  await runOut(first)
  const next = run.world.network.find(({ application }) => application === side)
  return next && (await start(next))
}

/** A process that is killed before its nth call; a nudge that it took is not sent again. */
const killed = (side: 'details' | 'beacon', calls: number): Named => ({
  name: `a ${side} that is killed before call ${calls} of its first step is mended by a resync of the other side`,
  act: async (script) => {
    const { world } = script.run
    await script.say(...CONFIGURED)
    const actor = await startFirst(script, side)
    if (actor === undefined) return
    for (let made = 1; made < calls && world.actors.includes(actor); made += 1) await world.step(actor)
    if (!world.actors.includes(actor)) return
    const letter = world.crash(actor, false)
    if (letter && !letter.isPlatform) world.lose(letter)
  },
  end: { resync: side === 'details' ? 'beacon' : 'details' },
})

/** The events once more, as a broker that has lost its own place delivers them. */
const again = ({ run: { world } }: Script, letters: readonly Letter[]): void => {
  for (const letter of letters) world.network.push({ ...letter, name: `${letter.name}, redelivered`, attempts: 0 })
}

/** What is lost: memories, nudges, processes, documents' events; and applications that go and come back. */
export const lossHistories: readonly Named[] = [
  {
    name: 'a consumer without its memory keeps its labels until its namespace is on the mesh',
    act: async ({ say, run: { world }, expect }) => {
      await say(config('beacon'), config('details', 'document'), mesh().told('details', 'document'))
      await say(forgotten('details'))
      const labelled = new Map<string, boolean>()
      world.api.subscribe(({ object }) => {
        if (!/^(StatefulSet details|Namespace shop)$/.test(`${object.kind} ${object.metadata.name}`)) return
        labelled.set(object.kind, Object.hasOwn(labelsOn(object), 'istio.io/dataplane-mode'))
        const isKept = labelled.get('StatefulSet') !== false || labelled.get('Namespace') === true
        expect(isKept, 'details leaves the mesh before its namespace is there')
      })
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }))
    },
  },
  {
    name: 'hardened mode goes with a namespace resync when the config that a lost memory knew is sent without a mesh',
    act: ({ say }) =>
      say(
        configOf('beacon', { mesh: { hardened: true }, workload: null, service: null }),
        forgotten('beacon'),
        configOf('beacon', { workload: null, service: null }),
      ),
    end: { resync: undefined },
  },
  {
    name: 'a policy of another namespace goes with a namespace resync when the consumer that it was for has lost its memory of that config',
    act: async ({ say }) => {
      const metadata = { name: 'far', namespace: 'front' }
      const far = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata, spec: { rules: [{}] } }
      await say(configOf('details', { rawPolicies: [far] }), forgotten('details'))
      await say(config('beacon'), config('details'), mesh().told('details'))
    },
    end: { resync: undefined },
  },
  {
    name: 'a memory restored from before its beacon lets go of labels and policies when the beacon alone is told of the end',
    meddling: new Set(['restored']),
    act: ({ say }) =>
      say(
        ...[client().told('details', 'document'), config('beacon'), mesh().told('details'), config('details')],
        ...([{ kind: 'restored', side: 'details', nth: 0 }, mesh().ended('beacon')] as const),
      ),
    end: { resync: 'beacon' },
  },
  {
    name: 'the end of another relation with the same beacon takes nobody off the mesh whose memory was lost with that of the beacon',
    act: ({ say }) => say(...ON, forgotten('details'), forgotten('beacon'), mesh(11).ended('details')),
  },
  {
    name: 'a worker without its memory leaves the mesh when it is told late of a relation that its coordinator knows to be over',
    variant: 'chain',
    act: async (script) => {
      const { say, send, quiet } = script
      await say(config('beacon'), config('tempo'), config('querier'), mesh(1, 'tempo').told('tempo'))
      const told = send(cluster().told('querier'))
      await quiet()
      await say(forgotten('querier'), forgotten('tempo'), cluster().ended('tempo'))
      await say(config('querier'), config('tempo'), mesh(1, 'tempo').told('tempo'))
      again(script, told)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'an endpoint of a lost memory waits for nobody when it is told late of a relation that its client knows to be over',
    act: async (script) => {
      const { say, send, start, runOut, lose, hold, quiet, run } = script
      await say(config('beacon'), config('details'), mesh().told('details'))
      const told = send(client().told('details'))
      for (const letter of told) await runOut(await start(letter))
      lose('productpage')
      await quiet()
      const ended = hold(client().ended('details'))
      await say(forgotten('details'), client().ended('productpage'))
      run.world.network.push(...ended)
      await quiet()
      await say(config('details'), mesh().told('details'))
      again(script, told)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'an endpoint of a lost memory waits for nobody when it is told late of a relation of which it knows the end alone',
    act: async (script) => {
      const { say, sayOnly, send, start, runOut, lose, quiet } = script
      await say(config('beacon'), config('details'), mesh().told('details'))
      const told = send(client().told('details'))
      for (const letter of told) await runOut(await start(letter))
      lose('productpage')
      await quiet()
      await say(forgotten('details'))
      await sayOnly(client().ended('details'))
      lose()
      await say(config('details'), mesh().told('details'))
      again(script, told)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'the end that only an unknown client is told while the memory of details is lost outlasts the announcement that details is told again',
    act: async (script) => {
      const { say, send, quiet } = script
      const { told, ended } = client(3, 'reviews')
      await say(config('beacon'), config('details'), mesh().told('details'))
      const letters = send(told('details'))
      await quiet()
      await say(forgotten('details'), ended('reviews'), config('details'), mesh().told('details'))
      again(script, letters)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a relation that is over is not waited for at an endpoint that details alone knows, once details is told of it again',
    order: 'sequence',
    act: async (script) => {
      const { say, send, quiet } = script
      const relation = terse(clientRelation(3, 'productpage'))
      const of = (kind: 'told' | 'ended', side: string): Fact => ({ kind, relation, side, form: 'event' })
      await say(config('beacon'), config('details'), mesh().told('details'))
      const letters = send(of('told', 'details'))
      await quiet()
      await say(of('told', 'productpage'), forgotten('details'), of('ended', 'details'))
      again(script, letters)
      await quiet()
      await say(config('details'), mesh().told('details'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: "a beacon without its memory keeps what guards a consumer on the namespace's mesh that has lost its memory as well",
    act: async (script) => {
      const { say, send, start, runTo, runOut, quiet, run } = script
      const beacons = send(configOf('beacon', { mesh: { modelOnMesh: true } }))
      const configs = send(config('details'))
      await quiet()
      await say(client().told('details'), mesh().told('details'), forgotten('details'), forgotten('beacon'))
      again(script, beacons)
      const [first] = run.world.network
      const beacon = first && (await start(first))
      // it has listed the memories, and looks at the objects
      if (beacon) await runTo(beacon, /authorizationpolicies/)
      again(script, configs)
      const [next] = run.world.network
      const details = next && (await start(next))
      if (details) await runOut(details)
      if (beacon) await runOut(beacon)
      await quiet()
      await say(client().told('details'), mesh().told('details'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a namespace stays on the mesh until an application that had lost its config carries labels of its own',
    act: async (script) => {
      const { say, send, start, runTo, runOut, quiet, run } = script
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }), mesh().told('details'), client().told('details'))
      const declared = send(config('details'))
      await quiet()
      await say(forgotten('details'))
      const configs = send(config('beacon'))
      await quiet()
      again(script, declared)
      const [told] = run.world.network
      const details = told && (await start(told))
      // it has saved which labels it is to have, and has written none
      if (details) await runTo(details, /^PATCH .*services\/details/)
      again(script, configs)
      for (const letter of [...run.world.network]) await runOut(await start(letter))
      if (details) await runOut(details)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: "a beacon that is told of a relation after both memories were lost keeps what guards a consumer on the namespace's mesh that has yet to hear of it",
    act: async (script) => {
      const { say, send, start, runOut, quiet, run } = script
      const beacons = send(configOf('beacon', { mesh: { modelOnMesh: true } }))
      const configs = send(config('details'))
      const relations = send(mesh().told('beacon'))
      await quiet()
      await say(client().told('details'), forgotten('details'), forgotten('beacon'))
      again(script, configs)
      await quiet()
      again(script, [...relations, ...beacons])
      for (const letter of [...run.world.network]) await runOut(await start(letter))
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'the end that only details knows of after both memories were lost is told to the beacon that waits for it',
    act: async (script) => {
      const { run, say, send, start, runOut, lose, quiet } = script
      await say(...CONFIGURED)
      const told = send(mesh().told('details'))
      for (const letter of told) await runOut(await start(letter))
      // the beacon grants
      for (const letter of [...run.world.network]) await runOut(await start(letter))
      lose()
      const ended = send(mesh().ended('details'))
      for (const letter of ended) await runOut(await start(letter))
      lose()
      await say(forgotten('beacon'), forgotten('details'))
      await say(client().told('details'), config('details'), config('beacon'))
      again(script, [...ended, ...told])
      await quiet()
    },
    end: { resync: 'productpage' },
  },
  {
    name: 'a relation whose document goes after both memories were lost is over for both sides',
    act: ({ say }) =>
      say(
        ...[config('beacon'), config('details'), client().told('details'), mesh().told('beacon', 'document')],
        ...[forgotten('details'), forgotten('beacon'), mesh().ended('beacon', 'document')],
        ...[config('beacon'), config('details'), client().told('details')],
      ),
    end: { resync: 'details' },
  },
  ...(['told', 'removed'] as const).map(
    (gone): Named => ({
      name: `a process that dies while it hears that a client goes refuses nobody when its write is late and the client is ${gone} again`,
      act: async (script) => {
        const { run, say, sayOnly, quiet, quietTo } = script
        const { told, ended } = client(3, 'reviews')
        const ends = gone === 'told' ? ended('reviews') : removed('reviews')
        await say(config('beacon'), config('details'), mesh().told('details'), config('reviews'), told('reviews'))
        await sayOnly(ends)
        const slow = await quietTo(/^PUT .*juju-service-mesh-details/)
        if (slow) run.world.crash(slow, true)
        if (gone === 'removed') await sayOnly(config('reviews'))
        await sayOnly(told('reviews'))
        await quiet()
        for (const call of [...run.world.late]) run.world.makeLate(call)
      },
      end: { resync: 'beacon' },
    }),
  ),
  {
    name: 'what a dead process may still remove is fenced also where whoever found its mark was overtaken first',
    act: async ({ run, say, send, sayOnly, quiet, start, runTo, runOut }) => {
      await say(...ON)
      const [end] = send(mesh().ended('details'))
      const dead = end && (await start(end))
      if (dead) await runTo(dead, /^DELETE .*authorizationpolicies/)
      const again = dead && run.world.crash(dead, true)
      const actor = again && (await start(again))
      if (actor === undefined) throw new Error('Expected details to remove its policies')
      await runTo(actor, /^PUT .*juju-service-mesh-details/)
      await sayOnly(mesh().told('details'))
      await runOut(actor)
      await quiet()
      for (const call of [...run.world.late]) run.world.makeLate(call)
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'pods rest on a label of their Service only once a dead process cannot take that off any more',
    act: async ({ run, say, send, quiet, start, runTo, runOut, lose }) => {
      await say(...CONFIGURED, client().told('details'), mesh().told('details', 'document'))
      const [end] = send(mesh().ended('details', 'document'))
      const dead = end && (await start(end))
      if (dead) await runTo(dead, /^PATCH .*services\/details/)
      const again = dead && run.world.crash(dead, true)
      const actor = again && (await start(again))
      if (actor === undefined) throw new Error('Expected details to take its labels off')
      send(mesh().told('details', 'document'))
      lose()
      await runTo(actor, /^GET .*juju-service-mesh-productpage/)
      for (const call of [...run.world.late]) run.world.makeLate(call)
      await runOut(actor)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'the end of a relation takes the policies of an application that its namespace keeps on the mesh, though its memory was lost before it heard of that',
    act: async ({ say, send, start, runOut, lose, quiet }) => {
      await say(configOf('beacon', { mesh: { modelOnMesh: true } }), client().told('details'), mesh().told('beacon'))
      await say(config('details'))
      const [end] = send(mesh().ended('beacon'))
      if (end) await runOut(await start(end))
      lose()
      await say(forgotten('details'), client().told('details'), config('details'))
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'the end that an application on the mesh with its namespace is told after both memories were lost takes its policies',
    act: ({ say }) =>
      say(
        ...[configOf('beacon', { mesh: { modelOnMesh: true } }), mesh().told('beacon'), config('details')],
        ...[forgotten('beacon'), forgotten('details'), mesh().ended('details')],
        ...[config('details'), configOf('beacon', { mesh: { modelOnMesh: true } })],
      ),
    end: { resync: 'details' },
  },
  {
    name: 'a document that goes while a first memory is made of it leaves nothing behind, though its end finds no memory',
    act: async ({ send, start, runTo, runOut, quiet }) => {
      const [made] = send(config('beacon', 'document'))
      const slow = made && (await start(made))
      if (slow) await runTo(slow, /^POST .*configmaps/)
      const [gone] = send(removed('beacon', 'document'))
      if (gone) await runOut(await start(gone))
      if (slow) await runOut(slow)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'a client is not refused by the late write of who heard of an end that the other side knew to be over',
    order: 'sequence',
    act: async ({ run, say, send, start, runTo, quiet }) => {
      await say(...CONFIGURED, mesh().told('details'))
      const [first] = send(client().ended('details'))
      const [last] = send(client().told('productpage'))
      const slow = first && (await start(first))
      if (slow === undefined || last === undefined) throw new Error('Expected two words')
      await runTo(slow, /^PUT .*juju-service-mesh-details/)
      run.world.crash(slow, true)
      run.world.network.splice(run.world.network.indexOf(last), 1)
      run.world.network.unshift(last)
      await quiet()
      for (const call of [...run.world.late]) run.world.makeLate(call)
    },
    end: { resync: 'beacon' },
  },
  ...(['event', 'document'] as const).map(
    (form): Named => ({
      name: `the end that only the beacon is told of by ${form} after both memories were lost takes details off the mesh`,
      act: ({ say }) =>
        say(
          ...[client().told('productpage'), config('details'), mesh().told('beacon', form), config('beacon')],
          ...[forgotten('details'), forgotten('beacon'), mesh().ended('beacon', form)],
        ),
    }),
  ),
  {
    name: 'a relation told before a removal is over for who comes back, though the memory of the beacon that has it is made late',
    act: async ({ run, say, sayOnly, send, start, runTo, lose, quiet }) => {
      await say(config('details'))
      await sayOnly(mesh().told('details'))
      lose()
      const [configured] = send(config('beacon'))
      const slow = configured && (await start(configured))
      if (slow === undefined) throw new Error('Expected a beacon')
      await runTo(slow, /^POST .*configmaps/)
      run.world.crash(slow, true)
      lose()
      await say(forgotten('details'), removed('details'), config('details'))
      for (const call of [...run.world.late]) run.world.makeLate(call)
      await say(config('beacon'))
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a client that got the id of another one is let in again by its event after the memory that knew it was lost',
    act: async ({ say, sayOnly, lose, quiet }) => {
      await say(mesh().told('beacon', 'document'), ...CONFIGURED)
      await sayOnly(client().ended('details'))
      lose('productpage')
      await sayOnly(client(3, 'reviews').told('details'))
      lose('reviews')
      await quiet()
      await say(forgotten('details'), config('beacon'))
    },
  },
  {
    name: 'the end that the beacon heard after its memory was lost takes off the mesh who forgot it before it was saved',
    variant: 'chain',
    act: async ({ run, say, send, start, runOut, quiet }) => {
      await say(mesh(1, 'tempo').told('beacon'), config('tempo'), config('beacon'), forgotten('beacon'))
      const [ended] = send(mesh(1, 'tempo').ended('beacon'))
      const beacon = ended && (await start(ended))
      if (beacon) await runOut(beacon)
      const [nudge] = run.world.network.filter(({ application }) => application === 'tempo')
      const tempo = nudge && (await start(nudge))
      if (tempo === undefined) throw new Error('Expected tempo to be told')
      run.world.crash(tempo, false)
      await say(forgotten('tempo'))
      await quiet()
      await say(config('tempo'), config('beacon'))
    },
    end: { resync: 'querier' },
  },
  ...EITHER.map(
    (side): Named => ({
      name: `both memories are lost: with a resync of ${side} a document says what put details on the mesh`,
      act: ({ say }) => {
        const documents = [config('beacon', 'document'), config('details', 'document')]
        const relations = [client().told('details', 'document'), mesh().told('details', 'document')]
        return say(...documents, ...relations, forgotten('details'), forgotten('beacon'))
      },
      end: { resync: side },
      check: ({ expect, run }) => {
        const isMisled = run.world.trace.some((line) => line.includes('stays on the mesh, as'))
        expect(!isMisled, 'somebody is to tell what a document says')
      },
    }),
  ),
  ...EITHER.flatMap((lost) =>
    EITHER.map(
      (side): Named => ({
        name: `the memory of ${lost} is lost, the other side was told: a resync of ${side} mends it`,
        act: ({ say }) => {
          const other = lost === 'details' ? 'beacon' : 'details'
          const relation = [client().told('details', 'document'), mesh().told(other)]
          return say(config('beacon', 'document'), config('details', 'document'), ...relation, forgotten(lost))
        },
        end: { resync: side },
      }),
    ),
  ),
  ...EITHER.map(
    (side): Named => ({
      name: `the memory of the beacon is lost, and a client goes: a resync of ${side} revokes its access`,
      act: async ({ say, lose, sayOnly }) => {
        const configs = [config('beacon', 'document'), config('details', 'document')]
        await say(...configs, client().told('details'), mesh().told('details'), forgotten('beacon'))
        await sayOnly(client().ended('details'))
        lose()
      },
      end: { resync: side },
    }),
  ),
  ...EITHER.map(
    (side): Named => ({
      name: `the one nudge is lost: a resync of ${side} mends it`,
      act: async ({ say, sayOnly, lose }) => {
        await say(...CONFIGURED)
        await sayOnly(mesh().told('details'))
        lose()
      },
      end: { resync: side },
    }),
  ),
  {
    name: 'the nudge of a revocation is lost: a resync of the beacon mends it',
    act: async ({ say, sayOnly, lose }) => {
      await say(...ON)
      await sayOnly(client().ended('details'))
      lose()
    },
    end: { resync: 'beacon' },
  },
  ...[1, 2, 3, 4, 5, 6].map((calls) => killed('details', calls)),
  ...[1, 2, 3, 5, 7, 9, 11, 13, 15].map((calls) => killed('beacon', calls)),
  {
    name: 'a beacon that is removed and made again works again',
    act: ({ say }) => say(...ON, removed('beacon'), config('beacon')),
  },
  {
    name: 'a consumer whose memory is deleted while its beacon is being removed leaves the mesh',
    act: async ({ say, sayOnly }) => {
      await say(...ON)
      await sayOnly(removed('beacon'))
      await say(forgotten('details'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a consumer whose memory is deleted is guarded until it has left the relation whose end made a new one',
    act: async ({ run, say, send, start, runTo, sayOnly }) => {
      await say(config('beacon'), config('details'), mesh().told('details', 'document'), forgotten('details'))
      const [gone] = send(mesh().ended('details', 'document'))
      const dying = gone && (await start(gone))
      if (dying && (await runTo(dying, /^POST /))) await run.world.step(dying)
      if (dying) run.world.crash(dying, true)
      await sayOnly(config('beacon'))
    },
    end: { resync: 'details' },
  },
  {
    name: 'a consumer whose memory is deleted leaves the mesh of a beacon whose document is deleted',
    act: async ({ say }) => {
      await say(config('beacon', 'document'), config('details', 'document'), mesh().told('details', 'document'))
      await say(forgotten('details'), removed('beacon', 'document'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a consumer whose memory is deleted, and that is removed then, is guarded until it has left, and lets nobody in then',
    act: async ({ run: { world }, say, send, start, runTo, runOut, resync, expect }) => {
      await say(config('beacon'), config('details'), client().told('productpage'))
      await say(mesh().told('beacon'), forgotten('details'))
      const find = (kind: string) =>
        world.api.objects().find((object) => object.kind === kind && object.metadata.name === 'details')
      world.api.subscribe(({ type, object }) => {
        const workload = find('StatefulSet')
        const isOn = workload !== undefined && Object.hasOwn(labelsOn(workload), 'istio.io/dataplane-mode')
        expect(
          !(type === 'DELETED' && object.kind === 'AuthorizationPolicy' && isOn),
          'a policy goes before the labels',
        )
      })
      const [gone] = send(removed('details'))
      const leaving = gone && (await start(gone))
      if (leaving) await runTo(leaving, /^PATCH .*statefulsets/)
      await resync('beacon')
      if (leaving) await runOut(leaving)
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a consumer leaves a beacon that was removed while a relation with another id was told',
    act: async ({ run, say, send, start, sayOnly, quiet }) => {
      await say(...ON)
      const [gone] = send(removed('beacon'))
      const dying = gone && (await start(gone))
      await sayOnly(mesh(11).told('beacon'))
      if (dying) run.world.crash(dying, true)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a policy that the config does not name any more does not stay when two steps race',
    act: async ({ say, send, start, runOut, runTo }) => {
      const deny = {
        apiVersion: 'security.istio.io/v1',
        kind: 'AuthorizationPolicy',
        metadata: { name: 'deny', namespace: 'shop' },
        spec: { selector: { matchLabels: { 'app.kubernetes.io/name': 'details' } }, action: 'DENY', rules: [{}] },
      }
      await say(config('beacon'), configOf('details', {}))
      const [more] = send(configOf('details', { rawPolicies: [deny] }))
      const slow = more && (await start(more))
      if (slow) await runTo(slow, POLICY_WRITE)
      const [less] = send(configOf('details', {}))
      if (less) await runOut(await start(less))
      if (slow) await runOut(slow)
    },
    end: { resync: 'details' },
  },
]
