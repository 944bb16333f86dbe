import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unitsOf } from '../helpers/application.ts'
import { begin, check, checkEnd, MOVE_NAMES, type Move, play } from './simulation.ts'

/** The histories are the same at each run; a failure says with which seed and path it comes again. */
const SEED = 20_260_101

const HISTORIES = Number(process.env.SIMULATOR_HISTORIES ?? 100)

const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.record({
    what: fc.constantFrom(...MOVE_NAMES),
    index: fc.nat({ max: 7 }),
    crash: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 14 }) },
    ),
  }),
  { minLength: 1, maxLength: 8, size: 'max' },
)

describe.each(['stateless', 'stateful'] as const)('a %s application, through hundreds of histories', (type) => {
  test('of pods, leaders, specs, reports and relations that come and go, with crashes', async () => {
    await fc.assert(
      fc.asyncProperty(moves, async (history) => {
        const simulation = await begin(type)
        check(simulation)
        for (const move of history) {
          await play(simulation, move)
          check(simulation)
        }
        await checkEnd(simulation)
      }),
      { numRuns: HISTORIES, seed: SEED },
    )
  })

  test('of a spec that a unit makes new at each run: it is slowed, and the last one is taken, whatever the pods do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('kill', 'late', 'resync'), { maxLength: 4 }), async (between) => {
        const simulation = await begin(type)
        const { world } = simulation
        const config = (run: number) => ({
          config: {
            workload: {
              podSpec: { containers: [{ name: 'web', image: 'web:0', env: [{ name: 'RUN', value: `${run}` }] }] },
              deployment: { type },
            },
          },
        })
        await world.send('config-changed', config(0))
        for (let run = 1; run <= 8; run += 1) {
          await world.send('resync', {})
          const [unit] = await unitsOf(world)
          await world.send('config-changed', { ...config(run), unit })
          const what = between[run % Math.max(1, between.length)]
          if (what) await play(simulation, { what, index: run, crash: 0 })
        }
        const runs = () => JSON.stringify(world.object(type === 'stateful' ? 'StatefulSet' : 'Deployment')?.spec)
        if (between.length === 0) expect(runs()).toContain('"value":"1"')
        world.clock.advance(300_000)
        await world.send('resync', {})
        expect(runs()).toContain('"value":"8"')
      }),
      { numRuns: 15, seed: SEED },
    )
  })
})
