import { principalsIn } from './monitor.ts'
import { CONFIGURED, client, cluster, config, isAdmitted, MEMORY_WRITE, mesh, type Named, removed } from './script.ts'
import { isEnrolled, takeSnapshot } from './snapshot.ts'

const ON = [...CONFIGURED, mesh().told('details')]

/** How far the clock of one side is behind, in milliseconds: further than what a history takes between two facts. */
const BEHIND = 30_000

/** How far the clock of a sender is ahead: further than what a history takes between two facts, and less than makes a clock wrong. */
const AHEAD = 30_000

/** Words about relations: told to one side and ended by the other, ids that change, events that come late. */
export const relationHistories: readonly Named[] = [
  {
    name: 'a relation told to details, ended by the beacon and told to details again stands',
    act: ({ say }) => say(...ON, mesh().ended('beacon'), mesh().told('details')),
  },
  {
    name: 'a relation told to details, ended by the beacon and told to details again stands, without any order',
    order: 'none',
    act: ({ say }) => say(...ON, mesh().ended('beacon'), mesh().told('details')),
  },
  {
    name: 'a relation told to the beacon and ended by details is over, without any order',
    order: 'none',
    act: ({ say }) => say(...CONFIGURED, mesh().told('beacon'), mesh().ended('details')),
  },
  {
    name: 'a relation that ends while the answer to it is on its way stays over, without any order',
    order: 'none',
    act: async ({ say, send, sayOnly, start, runOut, quiet, run: { world } }) => {
      await say(...CONFIGURED)
      await sayOnly(mesh().told('details'))
      const [nudge] = world.network
      if (nudge) await runOut(await start(nudge))
      const answers = [...world.network]
      const ended = send(mesh().ended('details'))
      for (const letter of ended) await runOut(await start(letter))
      for (const letter of answers) await runOut(await start(letter))
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'a client relation that is broken while the databag is on its way stays broken, without any order',
    order: 'none',
    act: async ({ say, send, start, runOut, sayOnly, run: { world } }) => {
      await say(...CONFIGURED.slice(0, 2), mesh().told('details'))
      await sayOnly(client().told('details'))
      const late = [...world.network]
      for (const letter of send(client().ended('details'))) await runOut(await start(letter))
      for (const letter of world.network.filter((one) => !late.includes(one))) await runOut(await start(letter))
      for (const letter of late) await runOut(await start(letter))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a worker that is related anew under another id stays in the cluster while it echoes the first end',
    variant: 'chain',
    act: async ({ say, send, sayOnly, start, runOut, runTo, quiet, run: { world } }) => {
      await say(config('beacon'), config('tempo'), config('querier'), mesh(1, 'tempo').told('tempo'))
      await sayOnly(cluster(5).told('tempo'))
      const [nudge] = world.network
      const slow = nudge && (await start(nudge))
      // its answer is sent, and it is about to remember that
      if (slow) while (world.network.length === 0 && (await runTo(slow, /./))) await world.step(slow)
      for (const letter of [...world.network]) await runOut(await start(letter))
      const letters = [...send(cluster(5).ended('tempo')), ...send(cluster(15).told('tempo'))]
      for (const letter of letters) await runOut(await start(letter))
      if (slow && world.actors.includes(slow)) await runOut(slow)
      await quiet()
    },
    end: { resync: 'querier' },
  },
  {
    name: 'two relations of one interface are two: ending the second leaves the first',
    act: ({ say }) => say(...ON, mesh(11).told('details'), mesh(11).ended('details')),
  },
  {
    name: 'a relation that replaces another one of the same applications stands when the first ends',
    act: ({ say }) => say(...ON, mesh(11).told('details'), mesh(1).ended('beacon')),
  },
  ...(['details', 'productpage'] as const).map(
    (side): Named => ({
      name: `an id that ended at reviews and is given to another client, told to ${side} by a clock that is behind, lets that one in`,
      act: async ({ say, send, quiet, run: { world } }) => {
        await say(...ON.slice(0, 2), mesh().told('details'), client(3, 'reviews').told('details'))
        world.advance(2 * BEHIND)
        await say(client(3, 'reviews').ended('reviews'))
        send(client(3).told(side), world.now() - BEHIND)
        await quiet()
      },
      end: { resync: 'details' },
    }),
  ),
  {
    name: 'the end of a relation, told by a clock that is right, leaves the one that has its id by then',
    act: async ({ say, send, hold, quiet, run: { world } }) => {
      await say(...ON.slice(0, 2), mesh().told('details'), client(3, 'reviews').told('details'))
      world.advance(2 * BEHIND)
      const ends = hold(client(3, 'reviews').ended('details'))
      send(client(3).told('productpage'), world.now() - BEHIND)
      await quiet()
      world.network.push(...ends)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'the telling of a relation that comes after its id went to another one, and that ended, lets nobody in',
    act: async ({ say, hold, quiet, run: { world } }) => {
      await say(...ON.slice(0, 2), mesh().told('details'))
      const late = hold(client(3).told('details'))
      await say(client(3).ended('details'), client(3, 'reviews').told('details'), client(3, 'reviews').ended('details'))
      world.network.push(...late)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'an id that ended at both sides, of which one never knew it, is given to another client by a clock that is behind',
    act: async ({ say, send, lose, start, runOut, quiet, run: { world } }) => {
      await say(...ON.slice(0, 2), mesh().told('details'), client(3, 'reviews').told('details'))
      world.advance(2 * BEHIND)
      for (const letter of send(client(3, 'reviews').ended('details'))) await runOut(await start(letter))
      lose('reviews')
      await say(client(3, 'reviews').ended('reviews'))
      send(client(3).told('details'), world.now() - BEHIND)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'the end of a relation, heard while its id is of another one, is known when it comes again, without any order',
    order: 'none',
    act: async ({ say, send, quiet, run: { world } }) => {
      await say(...ON)
      const [ended] = send(client(3, 'reviews').ended('details'))
      await quiet()
      await say(client(3, 'reviews').told('details'), client(3).ended('details'))
      if (ended) world.network.push({ ...ended, name: 'again', isAnswered: false, after: [] })
      await quiet()
    },
    end: { resync: 'details' },
  },
  ...(['time', 'sequence'] as const).map(
    (order): Named => ({
      name: `the end of a relation that comes before its telling, while its id is of another one, changes nothing, ordered by ${order}`,
      order,
      act: async ({ say, hold, quiet, run: { world } }) => {
        await say(...ON)
        const late = hold(client(3, 'reviews').told('details'))
        await say(client(3, 'reviews').ended('details'))
        world.network.push(...late)
        await quiet()
      },
      end: { resync: 'details' },
    }),
  ),
  {
    name: 'the end of a relation that nobody here knew, told by a clock that is right, does not end the one that has its id by then',
    act: async ({ say, send, quiet, run: { world } }) => {
      await say(...ON.slice(0, 2), mesh().told('details'))
      world.advance(2 * BEHIND)
      await say(client(3, 'reviews').ended('details'))
      send(client(3).told('details'), world.now() - BEHIND)
      await quiet()
    },
    end: { resync: 'details' },
  },
  {
    name: 'a client with two relations keeps its access when one of them ends',
    act: ({ say }) => say(...ON, client(13).told('productpage'), client(3).ended('details')),
  },
  {
    name: 'an id that is given to another client lets only that one in',
    act: ({ say }) => say(...ON, client(3).ended('productpage'), client(3, 'reviews').told('details')),
  },
  {
    name: 'a relation that goes and comes back while its end is being sent stands',
    act: async ({ say, send, start, runOut, runTo, quiet, run: { world } }) => {
      await say(...ON)
      const [ended] = send(mesh().ended('details'))
      const first = ended && (await start(ended))
      if (first) await runTo(first, /^(PUT|PATCH) .*statefulsets/)
      const [told] = send(mesh().told('details'))
      if (told) await runOut(await start(told))
      if (first && world.actors.includes(first)) await runOut(first)
      await quiet()
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a relation told to details and, before anybody heard of it, ended by the beacon is over',
    act: async ({ say, sayOnly }) => {
      await say(...CONFIGURED)
      await sayOnly(mesh().told('details'))
      await sayOnly(mesh().ended('beacon'))
    },
    end: { resync: 'beacon' },
  },
  {
    name: 'a relation that is told to the beacon again grants nothing by what the consumer published before its end',
    act: async (script) => {
      const { say, send, start, runOut, expect } = script
      await say(...CONFIGURED, mesh().told('beacon'))
      const ends = [...send(mesh().ended('details')), ...send(mesh().ended('beacon'))]
      const [more] = send(client(9, 'reviews').told('details'))
      for (const letter of [...ends, ...(more ? [more] : [])]) await runOut(await start(letter))
      for (const letter of send(mesh().told('beacon'))) await runOut(await start(letter))
      expect(!isAdmitted(script, 'productpage'), 'the beacon lets in whom details named before, and not reviews')
    },
  },
  {
    name: 'a beacon that first observes what a consumer published once that has ended grants it only with its policies',
    act: async ({ say, send, start, runOut, run: { world } }) => {
      await say(...CONFIGURED)
      const first = [...send(mesh().told('details')), ...send(mesh().ended('details')), ...send(mesh().told('beacon'))]
      for (const letter of first) await runOut(await start(letter))
      for (const letter of world.network.filter(({ application }) => application === 'details'))
        await runOut(await start(letter))
    },
  },
  {
    name: 'a word from before the removal of an application does not bring it back',
    act: async ({ say, send, quiet, run: { world } }) => {
      await say(...CONFIGURED)
      const late = send(mesh().told('details'))
      world.network.splice(0)
      await say(removed('details'))
      world.network.push(...late)
      await quiet()
    },
    check: ({ expect, run: { world } }) => {
      const isOn = isEnrolled(takeSnapshot(world), 'details')
      expect(!isOn, 'details was removed, and is on the mesh')
    },
  },
  {
    name: 'a relation that an application was told the end of, and only its beacon that it stands again, outlives the removal of the application',
    act: ({ say }) =>
      say(
        ...[...CONFIGURED, mesh().told('beacon'), mesh().ended('details'), mesh().told('beacon')],
        ...[removed('details'), config('details')],
      ),
  },
  {
    name: 'a removed client that was never told of its relation is let in by nobody',
    act: ({ say }) =>
      say(...CONFIGURED, mesh().told('details'), client(4, 'reviews').told('details'), removed('reviews')),
    check: (script) => script.expect(!isAdmitted(script, 'reviews'), 'reviews was removed, and is let in'),
  },
  {
    name: 'an application that a second beacon brings back after its removal is led by that one alone',
    act: async ({ say }) => {
      await say(...CONFIGURED, config('lantern'), mesh().told('beacon'), removed('details'))
      await say(mesh(21, 'details', 'lantern').told('details'))
    },
  },
  ...(['details', 'beacon'] as const).map(
    (side): Named => ({
      name: `the end of a relation that comes to ${side} after the next telling, both by a clock that is ahead, leaves it standing`,
      act: async ({ say, send, hold, quiet, run: { world } }) => {
        await say(...ON)
        const ended = hold(mesh().ended(side), world.now() + AHEAD)
        send(mesh().told('details'), world.now() + AHEAD)
        await quiet()
        world.network.push(...ended)
        await quiet()
      },
      end: { resync: 'details' },
    }),
  ),
  {
    name: 'an event whose time lies ten years ahead does not silence what comes after it',
    act: async ({ say, send, quiet, run: { world } }) => {
      await say(...CONFIGURED)
      send(mesh().told('details'), world.now() + 10 * 365 * 86_400_000)
      await quiet()
      await say(mesh().ended('details'))
    },
    end: { resync: 'details' },
    isOdd: true,
    check: ({ expect, run: { world } }) => {
      expect(!isEnrolled(takeSnapshot(world), 'details'), 'the relation ended, and details is on the mesh')
    },
  },
  {
    name: 'a forged nudge lets nobody in',
    act: async ({ say, quiet, run: { world } }) => {
      await say(...ON)
      const data = {
        relation: { id: 66, endpoint: 'details', interface: 'http', role: 'provides' },
        remote: { application: 'intruder', namespace: 'shop', endpoint: 'details', data: {} },
      }
      const type = 'dev.meshstep.relation-changed.v1'
      const event = {
        id: 'forged',
        source: '/meshstep/shop/intruder',
        type,
        subject: 'shop/details',
        extensions: {},
        data,
      }
      const letter = { event, name: 'a forged nudge', application: 'details', isPlatform: false }
      world.network.push({ ...letter, attempts: 0, isAnswered: false, after: [] })
      await quiet()
    },
  },
  {
    name: 'an alias of another namespace is never taken for a local application',
    act: ({ say }) => {
      const end = (application: string, endpoint: string) => ({ application, endpoint })
      const cmr = JSON.stringify({ app_name: 'f', juju_model_name: 'x2' })
      const alias = {
        id: 21,
        interface: 'cross_model_mesh',
        provider: end('details', 'provide-cmr-mesh'),
        requirer: end('f-x', 'provide-cmr-mesh'),
        data: { cmr_data: cmr },
      }
      return say(...ON, client(13, 'f-x').told('details'), {
        kind: 'told',
        relation: alias,
        side: 'details',
        form: 'event',
      })
    },
    isOdd: true,
    check: ({ expect, run: { world } }) => {
      const policies = world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
      const inside = policies.flatMap(principalsIn)
      expect(!inside.includes('f-x'), `f-x is let in: ${inside}`)
      expect(inside.includes('f'), `f is not let in: ${inside}`)
      const isMade = world.api.objects().some(({ metadata }) => metadata.name.includes('mesh-f-x-'))
      expect(!isMade, 'there is a memory for the alias')
    },
  },
  {
    name: 'an end is answered by a peer that knows better, though a process of it has died after it saved and before it answered',
    act: async ({ run: { world }, say, sayOnly, send, start, runTo, runOut, lose, quiet }) => {
      await say(...ON)
      const [ended] = send(client().ended('details'))
      const details = ended && (await start(ended))
      if (details === undefined) return
      await runTo(details, MEMORY_WRITE)
      await sayOnly(client().told('productpage'))
      await runOut(details)
      const answer = world.network.find(({ application }) => application === 'productpage')
      if (answer === undefined) return
      await runOut(await start(answer))
      lose('details')
      world.network.push(answer)
      await quiet()
    },
    end: 'nothing',
  },
]
