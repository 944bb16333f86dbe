import type { LabelTarget } from '../kubernetes/label-target.ts'
import type { Config } from '../state/config.ts'
import { labelledService } from '../workload/label-targets.ts'

/** Each costs every step a read, here and at the beacon. */
const MOST_NAMED_SERVICES = 20

/** The Services that policies name, besides the labelled one. Without the waypoint's label, nothing enforces their policies. */
export const namedServices = (application: string, config: Config = {}): string[] => {
  const named = (config.policies ?? []).flatMap((policy) =>
    policy.type === 'app' ? [policy.service || application] : [],
  )
  const own = labelledService(application, config)
  return [...new Set(named)].filter((name) => name !== own).slice(0, MOST_NAMED_SERVICES)
}

export const policyTargets = (application: string, config: Config = {}): LabelTarget[] =>
  namedServices(application, config).map((name) => ({ kind: 'Service', name }))
