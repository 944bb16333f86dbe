import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { eventOf } from '../../serve/page/relating.ts'
import { Failure } from '../failure.ts'
import { type Format, printAs, say } from '../output.ts'
import { SIGNS } from '../plan.ts'
import type { Round, RoundPlan } from './round.ts'

/** Builds the event of the end of an application. */
export const endOf = (namespace: string, application: string): string =>
  eventOf({ type: 'application-removed', subject: `${namespace}/${application}` }, `/juju/${namespace}`)

/** The documents and events of a round, as a plan takes them. A document with a deletion timestamp is deleted. */
export const proposalOf = ({ namespace, plan, gone }: RoundPlan): string[] => {
  const going = [...plan.replace, ...plan.prune].map(
    ({ apiVersion, kind, metadata: { name } }): KubernetesObject => ({
      apiVersion,
      kind,
      metadata: { name, namespace, deletionTimestamp: new Date().toISOString() },
    }),
  )
  const documents = [...going, ...plan.apply.map(({ desired }) => desired)]
  return [...documents.map((one) => JSON.stringify(one)), ...gone.map((application) => endOf(namespace, application))]
}

/**
 * Prints the effect of a round. Throws Failure with exit code 1 if something could not be done, and with 2 if a relation cannot be derived.
 */
export const printRound = (format: Format, round: Round): void => {
  printAs(format, round, textOf)
  for (const note of round.notes) say(note)
  if (round.failures.length > 0) throw new Failure([...round.failures, ...round.unknown].join('\n'))
  if (round.unknown.length > 0) throw new Failure(round.unknown.join('\n'), 2)
}

/**
 * Prints the rounds of a watch. A round that does nothing is printed if it has other problems than the one before. Problems of a round that was carried
 * out do not slow the next ones down.
 */
export const createRoundPrinter = (format: Format): ((round: Round) => void) => {
  let before = '[]'
  return (round) => {
    const problems = [...round.notes, ...round.failures, ...round.unknown]
    const isSaid = JSON.stringify(problems) === before
    before = JSON.stringify(problems)
    if (isSaid && round.writes.length + round.ended.length === 0) return
    printAs(format, round, textOf)
    if (isSaid) return
    for (const note of round.notes) say(note)
    for (const problem of [...round.failures, ...round.unknown]) say(`error: ${problem}`)
  }
}

const textOf = ({ namespace, writes, ended }: Round): string => {
  const lines = [
    ...writes.flatMap((write) => ('document' in write ? [`${SIGNS[write.change]} ${write.document}`] : [])),
    ...ended.map((application) => `- application ${namespace}/${application}`),
  ]
  return lines.length === 0 ? 'nothing changed' : lines.join('\n')
}
