import fc from 'fast-check'
import { runs } from './runs.ts'

/** The same cases in each run, so that a failure is there for whoever looks; FAST_CHECK_SEED tries others. */
fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED ?? 1), numRuns: runs(100) })
