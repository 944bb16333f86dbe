import fc from 'fast-check'

/** The same cases in each run, so that a failure is there for whoever looks; FAST_CHECK_SEED tries others. */
fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED ?? 1) })
