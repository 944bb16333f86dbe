import { setTimeout as sleep } from 'node:timers/promises'
import { type Event, writeEvent } from '../../cloudevents/cloud-event.ts'
import type { Log } from '../../http/app.ts'
import { type KubernetesObject, nameOf } from '../../kubernetes/objects.ts'
import type { EmbeddedApi } from '../api.ts'

type Options = { api: EmbeddedApi; sink: string; log: Log }

const VERBS = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const

const ATTEMPTS = 5

/**
 * Sends what happens to Pods and documents to the sink, as Knative's ApiServerSource does in mode Resource: in order, a few quick attempts
 * each, and then it is gone.
 */
export const startSource = ({ api, sink, log }: Options): { stop(): void } => {
  let sending: Promise<void> = Promise.resolve()
  let isStopped = false
  const unsubscribe = api.subscribe(({ type, object }) => {
    const event = isWatched(object) ? eventOf(VERBS[type], object) : undefined
    if (event) sending = sending.then(() => (isStopped ? undefined : send(event)))
  })

  const send = async (event: Event): Promise<void> => {
    const { headers, body } = writeEvent(event)
    for (let attempt = 0; attempt < ATTEMPTS && !isStopped; attempt += 1) {
      if (attempt > 0) await sleep(50 * 2 ** attempt)
      const status = await fetch(sink, { method: 'POST', headers, body }).then(
        (response) => response.status,
        () => 0,
      )
      if (status > 0 && status < 500 && status !== 429) return
    }
    log.error({ event: event.type, subject: event.subject }, 'failed to send cloudevent')
  }

  return {
    stop: () => {
      isStopped = true
      unsubscribe()
    },
  }
}

/** What the manifests' sources watch, and of Pods only what their Triggers let through. */
const isWatched = ({ kind, metadata }: KubernetesObject): boolean =>
  kind === 'Pod' ||
  (kind === 'ConfigMap' && ['relation', 'config'].includes(metadata.labels?.['meshstep.dev/kind'] ?? ''))

const eventOf = (verb: string, object: KubernetesObject): Event | undefined => {
  const { apiVersion, kind, metadata } = object
  if (kind === 'Pod' && verb !== 'add') return undefined
  return {
    id: crypto.randomUUID(),
    source: 'http://embedded',
    type: `dev.knative.apiserver.resource.${verb}`,
    subject: nameOf({ kind, ...metadata }).replace(' ', '/'),
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    extensions: { apiversion: apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? '' },
    data: object,
  }
}
