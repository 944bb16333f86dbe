import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../platform/base/log.ts'
import { type Event, writeEvent } from '../../platform/cloudevents/cloud-event.ts'
import { sourceEvent } from '../../platform/cloudevents/knative/source-event.ts'
import type { EmbeddedApi } from '../api/api.ts'

type Options = { api: EmbeddedApi; sink: string; log: Log }

const ATTEMPTS = 5

/**
 * Sends what happens to Pods and documents to the sink, as Knative's ApiServerSource does in mode Resource: in order, a few quick attempts
 * each, and then it is gone. `stop` drops what is not answered yet.
 */
export const startSource = ({ api, sink, log }: Options): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const { signal } = stopping
  let sending: Promise<void> = Promise.resolve()
  const unsubscribe = api.subscribe((change) => {
    const event = sourceEvent(change)
    if (event) sending = sending.then(() => send(event))
  })

  const send = async (event: Event): Promise<void> => {
    const { headers, body } = writeEvent(event)
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (attempt > 0) await sleep(50 * 2 ** attempt, undefined, { signal }).catch(() => undefined)
      const status = await fetch(sink, { method: 'POST', headers, body, signal }).then(
        (response) => response.status,
        () => 0,
      )
      if (signal.aborted || (status > 0 && status < 500 && status !== 429)) return
    }
    log.error({ event: event.type, subject: event.subject }, 'failed to send cloudevent')
  }

  return {
    stop: () => {
      unsubscribe()
      stopping.abort()
      return sending
    },
  }
}
