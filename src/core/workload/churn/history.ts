import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { Config } from '../../state/config.ts'
import { findChurn } from './evidence.ts'
import { judgePart, type Observation, PartChurn } from './judge-part.ts'

/** The changes that units made to the config, by its keys. */
export const ConfigChurn = z.record(z.string(), PartChurn)
export type ConfigChurn = z.infer<typeof ConfigChurn>

/** A config that arrives, and the context to judge it. */
export type ConfigObservation = Observation & { readonly before: Config | undefined; readonly told: Config }

/** The effective config, and the resulting history. */
export type JudgedConfig = { readonly config: Config; readonly history: ConfigChurn | undefined }

/** Keys that are never held back, because they decide on access, and restart nothing. */
const UNCOUNTED: readonly (keyof Config)[] = [
  ...(['policies', 'meshPolicies', 'rawPolicies', 'enforcement', 'trustDomain', 'serviceAccounts'] as const),
  ...(['expect', 'churn'] as const),
]

/**
 * Accepts a config, or holds parts of it back. The config of a person or a document is accepted, and ends churn. Of a unit's config each
 * part is judged on its own, and a held-back part stays as it was.
 */
export const judgeConfig = (history: ConfigChurn = {}, observation: ConfigObservation): JudgedConfig => {
  const { before, told, by } = observation
  if (before === undefined) return { config: told, history: undefined }
  if (by !== 'unit') {
    const isSame = isDeepStrictEqual(before, told) && findChurn(history).length === 0
    return { config: told, history: isSame ? unlessEmpty(history) : undefined }
  }
  // normalized as JSON stores it, without -0 and Infinity
  const given: Config = JSON.parse(JSON.stringify(told))
  const keys = [...new Set([...Object.keys(before), ...Object.keys(given)])].filter(isCounted)
  const parts = keys.map((key) => {
    const change = { key, before: partOf(before, key), told: partOf(given, key) }
    return { ...change, ...judgePart(ownValue(history, key), change, observation) }
  })
  const held = parts.filter(({ isHeld }) => isHeld).map((part) => [part.key, part.before] as const)
  const churn = parts.flatMap((part) => (part.churn ? [[part.key, part.churn] as const] : []))
  return { config: defined({ ...given, ...Object.fromEntries(held) }), history: unlessEmpty(Object.fromEntries(churn)) }
}

/** Drops the changes of a workload that the API server refused. It never ran, so it caused nothing. */
export const withoutRun = ({ workload, ...others }: ConfigChurn): ConfigChurn | undefined =>
  unlessEmpty(workload?.held ? { ...others, workload: { ...workload, recent: {}, whole: {} } } : others)

const unlessEmpty = (history: ConfigChurn): ConfigChurn | undefined =>
  Object.keys(history).length === 0 ? undefined : history

const isCounted = (key: string): boolean => !UNCOUNTED.some((one) => one === key)

const partOf = (config: Config, key: string): unknown => ownValue(config as Readonly<Record<string, unknown>>, key)
