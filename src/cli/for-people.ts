import type { DoneStep } from '../core/events/handle.ts'
import { stepRow } from './step-row.ts'

/** The addresses of `npm start`: the functions with their page, and the embedded Kubernetes API if it is used. */
export type Served = { readonly functions: string; readonly kubernetes?: string | undefined }

/** Tells a person at a terminal where the page is, what to try, and how to stop. */
export const greeting = ({ functions, kubernetes }: Served): string => {
  // the default port of the command
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

/** Formats a line of the log for a person. A step looks as in `meshstep tail`. Any other line has the time of day, the message, and its fields. */
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
