import * as z from 'zod'

/** A pod spec that programs of before held back: beside the config that was told they kept the spec that ran. */
const Former = z.looseObject({
  specs: z.looseObject({ spec: z.unknown(), loop: z.looseObject({ paths: z.array(z.string()), at: z.int() }) }),
  config: z.looseObject({ workload: z.looseObject({}) }),
})

/** Reads a history of pod specs as one of the config, which has the spec that runs. One without a loop says nothing more. */
export const withFormerSpecs = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('specs' in value)) return value
  const { specs: _, ...others } = value
  const former = Former.safeParse(value)
  if (!former.success) return others
  const { specs, config } = former.data
  const held = { ...specs.loop, paths: specs.loop.paths.map((path) => `workload.podSpec.${path}`) }
  return {
    ...others,
    config: { ...config, workload: { ...config.workload, podSpec: specs.spec } },
    configChurn: { workload: { recent: {}, whole: {}, held } },
  }
}
