import type { DoneStep } from '../core/events/handle.ts'
import { stepRow } from './step-row.ts'

/** The addresses of what `npm start` serves: the functions with their page, and the embedded Kubernetes API where there is one. */
export type Served = { readonly functions: string; readonly kubernetes?: string | undefined }

/** Says to a person at a terminal where the page is, what to try, and how it ends. */
export const greeting = ({ functions, kubernetes }: Served): string => {
  // the port that the command goes by where nobody names one
  const server = new URL(functions).port === '8080' ? '' : ` --server ${functions}`
  return [
    '',
    `  The page:      ${functions}/`,
    ...(kubernetes === undefined
      ? [`  Applications:  curl ${functions}/applications`]
      : [
          `  Try:           echo 'mesh: {}' | npx meshstep${server} --namespace bookinfo config beacon -f -`,
          `  The cluster:   kubectl --server ${kubernetes} get statefulsets,deployments,services,pods -A`,
        ]),
    '  Ctrl+C ends it.',
    '',
    '',
  ].join('\n')
}

/** A line of the log as a person reads it: a step as `meshstep tail` shows it, else the time of day, the message, and its fields. */
export const readableLine = (line: string): string => {
  const { level: _, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const date = new Date(Number(time))
  if (msg === 'step done') return `${stepRow({ ...fields, time: date.toISOString() } as DoneStep)}\n`
  const at = date.toISOString().slice(11, 19)
  const said = Object.entries(fields).map(([key, value]) => {
    return `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`
  })
  return `${[at, msg, ...said].join(' ')}\n`
}
