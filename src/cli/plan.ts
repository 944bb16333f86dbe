import type { Plan } from '../preview/preview.ts'
import { Failure } from './failure.ts'
import { type Format, printAs, say } from './output.ts'

export type FailOn = 'lose' | 'widen' | 'none'

const SIGNS = { created: '+', changed: '~', removed: '-' } as const

/** Prints a plan. Throws Failure with exit code 2 when access is lost, or widens where that is asked for, or an expectation is not met. */
export const printPlan = (
  format: Format,
  plan: Plan,
  { isDiffed = false, failOn = 'none' }: { isDiffed?: boolean; failOn?: FailOn },
): void => {
  printAs(format, plan, () => planText(plan, isDiffed))
  if (format === 'table') for (const message of plan.messages) say(message)
  const lost = plan.access.filter(({ before, after }) => before === 'allowed' && after !== 'allowed').length
  const gained = plan.access.filter(({ after }) => after === 'allowed').length
  const unmet = plan.expectations.filter(({ met }) => !met).length
  const reasons = [
    ...(failOn !== 'none' && lost > 0 ? [`access is lost (${lost})`] : []),
    ...(failOn === 'widen' && gained > 0 ? [`access widens (${gained})`] : []),
    ...(unmet > 0 ? [`expectations are not met (${unmet})`] : []),
  ]
  if (reasons.length > 0) throw new Failure(reasons.join(', '), 2)
}

const planText = ({ outcomes, objects, access, expectations }: Plan, isDiffed: boolean): string => {
  const brief = ({ object, change }: Plan['objects'][number]) => `${SIGNS[change]} ${object}`
  const messages = outcomes.flatMap(({ messages: said }) => said.map((one) => `! ${one}`))
  const parts = [
    ...(objects.length === 0 ? ['nothing would change'] : []),
    // a diff is empty where the object may not be seen
    ...objects.map((one) => (isDiffed && one.diff.trimEnd()) || brief(one)),
    ...(access.length > 0 ? ['', 'access', ...access.map(({ line }) => line)] : []),
    ...(expectations.length > 0
      ? ['', 'expectations', ...expectations.map(({ met, sentence }) => `${met ? 'met' : 'NOT MET'}: ${sentence}`)]
      : []),
    ...(messages.length > 0 ? ['', ...new Set(messages)] : []),
  ]
  return parts.join('\n')
}
