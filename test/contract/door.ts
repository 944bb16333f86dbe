import type { Environment } from '../../src/core/feature/feature.ts'
import { type Event, writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import type { Transport } from '../../src/platform/kubernetes/client.ts'
import { createService } from '../../src/serve/http/server.ts'
import { readSettings } from '../../src/serve/http/settings.ts'

const silent = () => undefined

type Options = {
  audience: string
  /** That of the functions' account. */
  transport: Transport
  environment: Environment
  requestToken(account: string): Promise<string>
}

/** Serves the functions as they are deployed with authentication, but as their own sink. Each account sends with one token. */
export const createDoor = ({ audience, transport, environment, requestToken }: Options) => {
  const { app, finish } = createService({
    settings: readSettings({ EVENT_AUDIENCE: audience }),
    names: [],
    transport,
    log: { info: silent, warn: silent, error: silent },
    environment,
  })
  const requested = new Map<string, Promise<string>>()
  const tokenOf = (account: string): Promise<string> => {
    const token = requested.get(account) ?? requestToken(account)
    requested.set(account, token)
    return token
  }
  return {
    finish,
    post: async (event: Event, account: string): Promise<Response> => {
      const { headers, body } = writeEvent(event)
      const authorization = `Bearer ${await tokenOf(account)}`
      return await app.request('/', { method: 'POST', body, headers: { ...headers, authorization } })
    },
  }
}
