import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { systemClock as clock } from './platform/base/clock.ts'
import { ConfigurationError, isConfigurationError } from './platform/base/errors.ts'
import { createSink } from './platform/cloudevents/sink.ts'
import { createKubernetes } from './platform/kubernetes/client.ts'
import { createTransport } from './platform/kubernetes/transport.ts'
import { type DeadLetters, lettersInEvents, lettersInFile, resend } from './serve/http/dead-letter-records.ts'
import { readSettings } from './serve/http/settings.ts'

const USAGE =
  'npm run resend -- --sink URL (--namespace NAMESPACE, of the cluster that KUBECONFIG names, or --file LOG, - for standard input)'

const TIMEOUT_MILLISECONDS = 20_000

const findLetters = async (namespace: string | undefined, file: string | undefined): Promise<DeadLetters> => {
  if (file !== undefined) return lettersInFile(await readFile(file === '-' ? '/dev/stdin' : file, 'utf8'))
  const { KUBECONFIG } = readSettings(process.env)
  if (namespace === undefined || KUBECONFIG === undefined) throw new ConfigurationError(USAGE)
  const { kubeconfigEndpoint } = await import('./platform/kubernetes/kubeconfig.ts')
  const transport = createTransport(await kubeconfigEndpoint(KUBECONFIG))
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + TIMEOUT_MILLISECONDS })
  return lettersInEvents(await kubernetes.list('Event', namespace).finally(transport.close))
}

/** Sends undelivered events again. Exits with 1 if any of them is left. */
const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: { sink: { type: 'string' }, namespace: { type: 'string' }, file: { type: 'string' } },
  })
  if (values.sink === undefined) throw new ConfigurationError(USAGE)
  const publish = createSink({ sink: values.sink, clock })
  const { letters, unreadable } = await findLetters(values.namespace, values.file)
  if (letters.length + unreadable === 0) throw new ConfigurationError('There are no dead letters to send again')
  const { sent, failed } = await resend(letters, (letter) => publish(letter, clock.now() + TIMEOUT_MILLISECONDS))
  for (const { type, id, source } of sent) process.stdout.write(`sent ${type} ${id} of ${source}\n`)
  for (const { letter, reason } of failed) process.stderr.write(`not sent: ${letter.type} ${letter.id}: ${reason}\n`)
  if (unreadable > 0)
    process.stderr.write(`${unreadable} dead letters were not kept: look for them in the sink's log\n`)
  return failed.length + unreadable > 0 ? 1 : 0
}

process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(`${isConfigurationError(error) ? error.message : error.stack}\n`)
  return 1
})
