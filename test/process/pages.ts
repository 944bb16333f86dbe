import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'

const folder = new URL('../../docs/', import.meta.url)

/** The text of a page of the documentation. */
export const textOf = (page: string): string => readFileSync(new URL(page, folder), 'utf8')

/** The commands of a page, by their blocks. A sentence may begin a line with the word of a command. */
const blocksOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)

/** What a page starts before everything else: its first block is this one command. Undefined where it is another. */
export const startOf = (text: string): string[] | undefined => {
  const [, block = ''] = /^```\w+\n(.*?)^```/ms.exec(text) ?? []
  const [, options] = /^npx meshstep start(.*)\n$/.exec(block) ?? []
  return options?.split(' ').filter((option) => option !== '')
}

/** The pages of the documentation that send events. */
export const pages = (): string[] =>
  globSync('**/*.md', { cwd: folder }).filter((page) => blocksOf(page).some((block) => /^send /m.test(block)))

/** A command as it stands on a page, the status that it is answered with there, and the body that it sends, or its URL. */
export type Command = { readonly name: string; readonly expected: string | undefined; readonly sent: string }

/** The commands of a page in the order in which they stand there; `curl` is replaced by what prints the body it would send, or its URL. */
export const commandsOf = (page: string): Command[] => {
  const blocks = blocksOf(page)
  const script = `kubectl() { :; }
npx() { :; }
curl() { printf '%s\\0' "\${@: -1}"; }\n${blocks.join('\n')}`
  const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
  const lines = blocks.join('\n').match(/^(send|curl) .*$/gm) ?? []
  return printed.map((sent, index) => ({
    name: lines[index] ?? '',
    expected: / # (\w+)$/.exec(lines[index] ?? '')?.[1],
    sent,
  }))
}

/** The HTTP status and the body with which the process at `url` answers a command. */
export const answerTo = async (
  { sent }: Command,
  url: string,
): Promise<{ code: number; body: Record<string, unknown> }> => {
  const response = sent.startsWith('{')
    ? await fetch(url, { method: 'POST', headers: { 'content-type': 'application/cloudevents+json' }, body: sent })
    : await fetch(sent.replace('localhost:8080', url))
  return { code: response.status, body: (await response.json()) as Record<string, unknown> }
}
