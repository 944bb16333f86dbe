import { stringify } from 'yaml'
import type { Proposed } from '../ask/propose/proposal.ts'

/** Writes the documents as YAML, each below the sentences that give its reason, and at the end what a person has to look at. */
export const proposedYaml = (proposed: Proposed): string => {
  const { namespace, window, documents } = proposed
  const head = `Proposed for ${namespace} by the traffic of the last ${window}.`
  const texts = documents.map(
    ({ comments, document }) => `---\n${commented(comments)}${stringify(document, { lineWidth: 0 })}`,
  )
  const listed = listedLines(proposed)
  return [
    commented([documents.length > 0 ? head : `${head} Nothing is needed.`]),
    ...texts,
    ...(listed.length > 0 ? [commented(listed)] : []),
  ].join('')
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
