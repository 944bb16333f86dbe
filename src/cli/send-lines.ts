import type { Handled } from '../core/reconcile/outcome.ts'
import { Failure } from './failure.ts'
import { type Format, printAs, type Table } from './output.ts'
import type { Server } from './server.ts'

/** Sends events, one CloudEvent in JSON format on each line, and prints the answers. Throws Failure with exit code 2 if one is refused. */
export const sendLines = async (lines: readonly string[], server: Server, format: Format): Promise<void> => {
  const answers: Answer[] = []
  for (const line of lines) {
    answers.push(await sendLine(line, (body) => server.post<Handled>('/', 'application/cloudevents+json', body)))
    progress(answers.length, lines.length)
  }
  printAs(format, answers, answerTable)
  const refused = answers.filter(({ status }) => status === 'refused').length
  if (refused > 0) throw new Failure(`${refused} of ${answers.length} events were refused`, 2)
}

type Answer = { readonly id: string; readonly status: string; readonly message: string }

const answerTable = (answers: readonly Answer[]): Table => ({
  titles: ['ID', 'STATUS', 'MESSAGE'],
  rows: answers.map(({ id, status, message }) => [id, status, message]),
})

const progress = (done: number, of: number): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${of}${done === of ? '\n' : ''}`)
}

const sendLine = async (line: string, post: (body: string) => Promise<Handled>) => {
  const id = idIn(line)
  try {
    const { status, messages } = await post(line)
    return { id, status, message: messages.join('; ') }
  } catch (error) {
    if (error instanceof Failure) return { id, status: 'refused', message: error.message }
    throw error
  }
}

const idIn = (line: string): string => {
  try {
    return String((JSON.parse(line) as { id: unknown }).id)
  } catch (error) {
    throw new Failure(`not a line of JSON: ${line.slice(0, 80)}`, 1, { cause: error })
  }
}
