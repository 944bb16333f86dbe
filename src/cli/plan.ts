import type { Plan } from '../ask/preview/preview.ts'
import { type Judged, mayBeLost } from '../ask/traffic/losses.ts'
import { Failure } from './failure.ts'
import type { JudgedPlan } from './loss-traffic.ts'
import { type Format, isForPeople, printAs, say } from './output.ts'
import { accessLines } from './plan-access.ts'

export type FailOn = 'lose' | 'used' | 'widen' | 'none'

export const SIGNS = { created: '+', changed: '~', removed: '-' } as const

/** The limit of reasons on stderr. The JSON output has all. */
const MOST_REASONS = 10

/**
 * Prints a plan. Throws Failure with exit code 2 if access is lost, with `used` if used access is, if it widens and `failOn` is `widen`, or if an expectation
 * is not met. Throws it with 3 if such an effect on access is unknown.
 */
export const printPlan = (
  format: Format,
  plan: JudgedPlan,
  { isDiffed = false, failOn = 'none' }: { isDiffed?: boolean; failOn?: FailOn },
): void => {
  printAs(format, plan, () => planText(plan, isDiffed))
  if (isForPeople(format)) for (const message of plan.messages) say(message)
  for (const one of plan.incomplete.slice(0, MOST_REASONS)) say(one)
  if (plan.incomplete.length > MOST_REASONS) say(`and ${plan.incomplete.length - MOST_REASONS} more: -o json has all`)
  const failure = failureOf(plan, failOn)
  if (failure) throw failure
}

/** Returns the failure with which the command ends. Returns undefined if no access is lost and everything was compared. */
export const failureOf = (plan: JudgedPlan, failOn: FailOn): Failure | undefined => {
  const reasons = reasonsOf(plan, failOn)
  if (reasons.length > 0) return new Failure(reasons.join(', '), 2)
  const unknown = failOn === 'used' ? unknownUseOf(plan) : unknownOf(plan, failOn)
  return unknown.length === 0 ? undefined : new Failure(`it is not known if ${unknown.join(', or ')}`, 3)
}

/** Lists the effects on access that cannot be ruled out and count as a failure. */
const unknownOf = (plan: JudgedPlan, failOn: FailOn): string[] => {
  const lost = plan.incomplete.length + countOf(plan, 'undecided', (after) => after !== 'allowed')
  const gained = countOf(plan, 'denied', (after) => after === 'undecided')
  return [
    ...(failOn !== 'none' && lost > 0 ? [`access is lost (${lost})`] : []),
    ...(failOn === 'widen' && gained > 0 ? [`${lost > 0 ? '' : 'access '}widens (${gained})`] : []),
  ]
}

/** Tells if used access may be lost. Without a Prometheus that is so for each loss. */
const unknownUseOf = ({ access, incomplete, notCompared = [] }: JudgedPlan): string[] => {
  const lost = access.filter(mayBeLost)
  const open = lost.filter((one) => one.traffic?.is !== 'silent' && !isUsedLoss(one))
  const count = incomplete.length + notCompared.length + open.reduce((sum, one) => sum + one.count, 0)
  const isBlind = lost.some(({ traffic }) => traffic === undefined)
  return count > 0 ? [`used access is lost (${count})${isBlind ? ': name a Prometheus with --prometheus' : ''}`] : []
}

const isUsedLoss = ({ before, traffic }: Judged): boolean => before === 'allowed' && traffic?.is === 'used'

/** Lists the reasons for exit code 2. */
const reasonsOf = (plan: JudgedPlan, failOn: FailOn): string[] => {
  const lost = countOf(plan, 'allowed', (after) => after !== 'allowed')
  const gained = plan.access.reduce((sum, { after, count }) => (after === 'allowed' ? sum + count : sum), 0)
  const used = plan.access.reduce((sum, one) => (mayBeLost(one) && isUsedLoss(one) ? sum + one.count : sum), 0)
  const unmet = plan.expectations.filter(({ met }) => !met).length
  return [
    ...(failOn === 'used' && used > 0 ? [`used access is lost (${used})`] : []),
    ...((failOn === 'lose' || failOn === 'widen') && lost > 0 ? [`access is lost (${lost})`] : []),
    ...(failOn === 'widen' && gained > 0 ? [`access widens (${gained})`] : []),
    ...(unmet > 0 ? [`expectations are not met (${unmet})`] : []),
  ]
}

type Verdict = Plan['access'][number]['before']

/** Counts the clients with this change, summed over all changes. */
const countOf = ({ access }: JudgedPlan, before: Verdict, isAfter: (after: Verdict) => boolean): number =>
  access.reduce((sum, one) => (one.before === before && isAfter(one.after) ? sum + one.count : sum), 0)

/** Shows on a terminal that a plan is being made, and since when. */
export const whilePlanning = async <T>(making: Promise<T>): Promise<T> => {
  if (!process.stderr.isTTY) return await making
  const began = performance.now()
  const show = () => process.stderr.write(`\rplanning … ${Math.floor((performance.now() - began) / 1_000)} s`)
  const timer = setInterval(show, 1_000)
  show()
  try {
    return await making
  } finally {
    clearInterval(timer)
    // clears the line
    process.stderr.write('\r\u001b[K')
  }
}

/** Writes a line for each expectation. */
export const expectationLines = (expectations: Plan['expectations']): string[] =>
  expectations.map(({ met, sentence }) => `${met ? 'met' : 'NOT MET'}: ${sentence}`)

const planText = ({ outcomes, objects, access, expectations }: JudgedPlan, isDiffed: boolean): string => {
  const brief = ({ object, change }: Plan['objects'][number]) => `${SIGNS[change]} ${object}`
  const messages = outcomes.flatMap(({ messages: said }) => said.map((one) => `! ${one}`))
  const parts = [
    ...(objects.length === 0 ? ['nothing would change'] : []),
    // a diff is empty if the sender may not read the object
    ...objects.map((one) => (isDiffed && one.diff.trimEnd()) || brief(one)),
    ...(access.length > 0 ? ['', 'access', ...accessLines(access)] : []),
    ...(expectations.length > 0 ? ['', 'expectations', ...expectationLines(expectations)] : []),
    ...(messages.length > 0 ? ['', ...new Set(messages)] : []),
  ]
  return parts.join('\n')
}
