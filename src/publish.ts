import { readFile } from 'node:fs/promises'
import type { Clock } from './clock.ts'
import { Unavailable } from './errors.ts'
import { type Event, writeEvent } from './events/cloud-event.ts'

/** Sends an event to the sink. Rejects with Unavailable when the sink has not accepted it by the deadline, in milliseconds since the epoch. */
export type Publish = (event: Event, deadline: number) => Promise<void>

type Options = {
  sink(): string
  clock: Clock
  /** Where Knative's SinkBinding mounts a token for a sink that asks for one; it rotates. */
  tokenFile?: string
  fetch?: typeof globalThis.fetch
}

const FIRST_DELAY_MILLISECONDS = 100

/** A sink is a URL that takes CloudEvents in binary mode over HTTP, as Knative's K_SINK does. */
export const createPublisher =
  ({ sink, clock, tokenFile = '/oidc/token', fetch = globalThis.fetch }: Options): Publish =>
  async (event, deadline) => {
    const { headers, body } = writeEvent(event)
    const attempt = async (): Promise<string | undefined> => {
      try {
        const token = await readFile(tokenFile, 'utf8').catch(() => undefined)
        const authorization = token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }
        const signal = AbortSignal.timeout(Math.max(1, deadline - clock.now()))
        const response = await fetch(sink(), {
          method: 'POST',
          headers: { ...headers, ...authorization },
          body,
          signal,
        })
        return response.ok ? undefined : `answered ${response.status}: ${(await response.text()).slice(0, 200)}`
      } catch (error) {
        return `did not answer: ${(error as Error).message}`
      }
    }
    for (let delay = FIRST_DELAY_MILLISECONDS; ; delay *= 2) {
      const problem = await attempt()
      if (problem === undefined) return
      const wait = delay * (0.5 + clock.random())
      if (clock.now() + wait >= deadline)
        throw new Unavailable(`The sink ${sink()} did not accept ${event.type} for ${event.subject}: it ${problem}`)
      await clock.sleep(wait)
    }
  }
