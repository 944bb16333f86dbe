import * as z from 'zod'
import { Failure } from '../failure.ts'
import type { RunJuju } from './run.ts'

/** An option of a charm that holds the config of meshstep for its application. */
export type ConfigOption = { readonly application: string; readonly option: string }

const Settings = z.object({ settings: z.record(z.string(), z.object({ value: z.unknown().optional() })) })

/** Reads the values of options, by application: empty for an option without a value. Rejects with Failure if a charm does not have the option. */
export const askOptions = async (
  run: RunJuju,
  model: string,
  options: readonly ConfigOption[],
): Promise<ReadonlyMap<string, string>> => {
  const values = new Map<string, string>()
  for (const { application, option } of options) {
    const text = await run(['config', '--format=json', `--model=${model}`, application])
    const found = settingsIn(application, text)[option]
    if (found === undefined)
      throw new Failure(`${application} has no option ${option}: juju config ${application} lists those of its charm`)
    values.set(application, typeof found.value === 'string' ? found.value.trim() : '')
  }
  return values
}

const settingsIn = (application: string, text: string) => {
  try {
    return Settings.parse(JSON.parse(text)).settings
  } catch (error) {
    throw new Failure(`juju config ${application}: expected its settings as JSON`, 1, { cause: error })
  }
}
