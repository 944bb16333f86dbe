import { defined } from '../../platform/base/own-value.ts'
import type { Wait } from '../../platform/base/wait.ts'
import type { Leader } from '../units/leader.ts'
import { type ApplicationStatus, type Report, statusRank, type WorkloadStatus } from '../units/report.ts'
import { unitStatuses } from '../units/unit-status.ts'
import type { Units } from '../units/units.ts'
/** The facts that an application's status depends on. */
export type StatusInput = {
  readonly application: string
  readonly units: Units
  readonly now: Date
  /** The application was removed, or nothing of it is told or runs any more. */
  readonly isRemoved?: boolean
  /** The application should have pods, and has none. */
  readonly hasNoUnits?: boolean | undefined
  /** The API server's refusal of the spec. */
  readonly badSpec?: string | undefined
  /** The API server's other refusals. */
  readonly refused?: readonly string[] | undefined
  /** Problems of the workload and its pods. */
  readonly health?: readonly Report[] | undefined
  /** An object of another owner with the name of the application's workload. */
  readonly namesake?: string | undefined
  /** The versions of an interface that do not match. */
  readonly incompatible?: string | undefined
  /** The statuses that features report. */
  readonly reports?: readonly ApplicationStatus[] | undefined
  /** The unit whose data wait for a leader. */
  readonly pending?: Leader | undefined
  /** All waits for other parties. */
  readonly waiting?: readonly Wait[] | undefined
}

/** Returns the most severe status: error, blocked, maintenance, waiting, then active. Of equal ones, the first counts. A removed application is `removed` once it waits for nobody. */
export const combineStatuses = (facts: StatusInput): ApplicationStatus => {
  const found = candidates(facts)
  const [worst, ...others] = found.toSorted((one, other) => statusRank(one.status) - statusRank(other.status))
  if (facts.isRemoved && (facts.waiting ?? []).length === 0) return { status: 'removed', message: worst?.message ?? '' }
  if (worst === undefined) return { status: 'active', message: '' }
  const alike = others.filter(({ status }) => status === worst.status).length
  const isGood = worst.status === 'active' || alike === 0
  return { ...worst, message: isGood ? worst.message : `${worst.message} (and ${alike} more)` }
}

const candidates = (facts: StatusInput): ApplicationStatus[] => [
  ...when('error', facts.badSpec, (why) => `the pod spec is refused, and what runs stays: ${why}`),
  ...each('error', facts.refused, (why) => why),
  ...(facts.health ?? []),
  ...when('blocked', facts.namesake, (name) => `${name} is somebody else's: the application's own is not deployed`),
  ...when('blocked', facts.incompatible, (why) => why),
  ...(facts.reports ?? []),
  ...unitStatuses(facts.application, facts.units, facts.now),
  ...when(
    'waiting',
    facts.pending,
    ({ unit }) => `no leader: what ${unit} asked for is applied once ${unit} is elected`,
  ),
  ...(facts.waiting ?? []).map(({ message, since }) => ({
    status: 'waiting' as const,
    message,
    ...defined({ since }),
  })),
  ...when('waiting', facts.hasNoUnits || undefined, () => 'no unit is there yet'),
]

const each = (
  status: WorkloadStatus,
  facts: readonly string[] | undefined,
  messageOf: (fact: string) => string,
): ApplicationStatus[] => (facts ?? []).map((fact) => ({ status, message: messageOf(fact) }))

const when = <T>(status: WorkloadStatus, fact: T | undefined, messageOf: (fact: T) => string): ApplicationStatus[] =>
  fact === undefined ? [] : [{ status, message: messageOf(fact) }]
