import { joinAnd } from '../../platform/base/printed.ts'
import type { AuthorizationPolicySpec, Operation, Rule, Source } from './authorization-policy.ts'
import { mistakeIf, type PolicyMistake } from './mistake.ts'
import { asTcpSees, hasFields } from './visible-rule.ts'

/** A port of a waypoint. Without a protocol Istio inspects each connection. */
export type WaypointPort = { readonly port: number; readonly protocol: 'http' | 'tcp' | undefined }

/** Lists rules with HTTP fields that have another effect on TCP ports. `ports` are those of all targets, or undefined if unknown. */
export const tcpMistakes = (
  { action = 'ALLOW', rules = [] }: AuthorizationPolicySpec,
  ports: readonly WaypointPort[] | undefined,
): PolicyMistake[] =>
  rules.flatMap((rule, index) => {
    const reached = ports?.filter(({ port }) => isReached(rule, port))
    if (action === 'ALLOW') return reached ? ofAllow(rule, `rules[${index}]`, reached) : []
    return action === 'DENY' ? ofDeny(rule, `rules[${index}]`, reached) : []
  })

const isOf = (values: readonly string[] | undefined, port: number): boolean =>
  (values ?? []).some((value) => Number(value) === port)

const isLeftOpen = (values: readonly string[] = [], notValues: readonly string[] = [], port: number): boolean =>
  (values.length === 0 || isOf(values, port)) && !isOf(notValues, port)

const portConditions = ({ when = [] }: Rule) => when.filter(({ key }) => key === 'destination.port')

const isReached = (rule: Rule, port: number): boolean =>
  (rule.to ?? [{}]).some(({ operation }) => isLeftOpen(operation?.ports, operation?.notPorts, port)) &&
  portConditions(rule).every(({ values, notValues }) => isLeftOpen(values, notValues, port))

const isNamed = (rule: Rule, port: number): boolean =>
  (rule.to ?? []).some(({ operation }) => isOf(operation?.ports, port)) ||
  portConditions(rule).some(({ values }) => isOf(values, port))

const numbersOf = (ports: readonly WaypointPort[]): number[] => [...new Set(ports.map(({ port }) => port))]

/** Checks an ALLOW rule. If it also admits clients on other ports, it is a mistake only at ports that it names and that carry TCP at all targets. */
const ofAllow = (rule: Rule, which: string, reached: readonly WaypointPort[]): PolicyMistake[] => {
  const seen = asTcpSees(rule, 'ALLOW')
  if (!('never' in seen)) return []
  const isTcp = (port: number) => reached.every((one) => one.port !== port || one.protocol === 'tcp')
  const closed = numbersOf(reached).filter(isTcp)
  const told = closed.length === numbersOf(reached).length ? closed : closed.filter((port) => isNamed(rule, port))
  return mistakeIf(
    told.length > 0,
    'allow-on-tcp',
    `lets in nobody by ${which} on port ${joinAnd(told.map(String))}: ${seen.never}`,
  )
}

const ofDeny = (rule: Rule, which: string, reached: readonly WaypointPort[] | undefined): PolicyMistake[] => {
  const seen = asTcpSees(rule, 'DENY')
  if ('never' in seen || seen.rule === rule) return []
  const isAll = isOpen(seen.rule)
  if (reached === undefined)
    return mistakeIf(
      isAll,
      'deny-on-tcp',
      `denies everything by ${which} on ports that carry TCP, where nobody sees HTTP: name its ports`,
    )
  const wider = reached.filter(({ port }) => isWider(rule, port))
  const of = (protocol: WaypointPort['protocol']) =>
    joinAnd(numbersOf(wider.filter((one) => one.protocol === protocol)).map(String))
  const [tcp, inspected] = [of('tcp'), of(undefined)]
  if (tcp !== '') {
    const what = isAll ? `everything by ${which}` : `more by ${which} than it says`
    return mistakeIf(true, 'deny-on-tcp', `denies ${what} on port ${tcp}, which carries TCP, where nobody sees HTTP`)
  }
  return mistakeIf(
    isAll && inspected !== '',
    'deny-on-tcp',
    `denies everything by ${which} on port ${inspected} where a connection is not HTTP: name the protocol of the port in the Service`,
  )
}

/** Tells if a rule matches more on a port without its HTTP fields. It does not if an operation without HTTP fields already has that port. */
const isWider = ({ from, to = [], when }: Rule, port: number): boolean =>
  !isSeen({ from, when }) || !to.some((one) => isSeen({ to: [one] }) && isReached({ to: [one] }, port))

const isSeen = (rule: Rule): boolean => {
  const seen = asTcpSees(rule, 'DENY')
  return 'rule' in seen && seen.rule === rule
}

/** Tells if no condition of a rule is left. */
const isOpen = ({ from = [], to = [], when = [] }: Rule): boolean => {
  const isEmpty = (parts: readonly (Source | Operation | undefined)[]) =>
    parts.length === 0 || parts.some((part) => !part || !hasFields(part))
  return when.length === 0 && isEmpty(from.map(({ source }) => source)) && isEmpty(to.map(({ operation }) => operation))
}
