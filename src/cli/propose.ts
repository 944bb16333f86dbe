import { stringify } from 'yaml'
import type { Proposed } from '../ask/propose/proposal.ts'
import { joinAnd } from '../platform/base/printed.ts'

/** Writes the documents as YAML, each below the sentences that give its reason, and at the end what a person has to look at. */
export const proposedYaml = (proposed: Proposed): string => {
  const texts = proposed.documents.map(
    ({ comments, document }) => `---\n${commented(comments)}${stringify(document, { lineWidth: 0 })}`,
  )
  return [commented(headLines(proposed)), ...texts, commented(listedLines(proposed))].join('')
}

/** Without documents, says if nothing is needed, or that applications stay as they are, or that traffic is not known. */
const headLines = ({ namespace, window, documents, listed, notes }: Proposed): string[] => {
  const head = `Proposed for ${namespace} by the traffic of the last ${window}.`
  if (documents.length > 0) return [head]
  const left = listed.filter(({ kind }) => kind === 'left').map(({ to }) => to)
  if (left.length > 0) return [`${head} Nothing is proposed for ${joinAnd(left)}: the reasons are below.`, ...notes]
  return notes.length > 0 ? [`${head} Nothing is proposed.`, ...notes] : [`${head} Nothing is needed.`]
}

/** Lists what was not proposed, under a title for each kind. */
export const listedLines = ({ listed }: Proposed): string[] => {
  const of = (kind: Proposed['listed'][number]['kind'], title: string): string[] => {
    const sentences = listed.filter((one) => one.kind === kind).map(({ sentence }) => `  ${sentence}`)
    return sentences.length > 0 ? [title, ...sentences] : []
  }
  return [
    ...of('suspicious', 'Not let in. Look at each, and relate it if it is meant:'),
    ...of('left', 'Left as they are, so open if they are open now:'),
  ]
}

/** One sentence on each line, as names come from metrics. */
const commented = (sentences: readonly string[]): string =>
  sentences.map((sentence) => `# ${sentence.replaceAll(/[\r\n\u0085\u2028\u2029]+/g, ' ')}\n`).join('')
