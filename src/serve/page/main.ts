import { readFile } from 'node:fs/promises'
import { ConfigurationError } from '../../platform/base/errors.ts'
import { createLog } from '../../platform/base/log.ts'
import { findEndpoint } from '../../platform/kubernetes/endpoint.ts'
import { notAPod } from '../../platform/kubernetes/in-cluster.ts'
import { createTransport } from '../../platform/kubernetes/transport.ts'
import { runUntilSignal } from '../http/process-lifecycle.ts'
import { startServer } from '../http/server.ts'
import { readSettings } from '../http/settings.ts'
import { findAssets } from './assets.ts'
import { mountPage } from './page.ts'

const NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** `node page.mjs` serves the page and the questions, and takes no events. */
await runUntilSignal(async () => {
  const settings = readSettings(process.env)
  const log = createLog(settings.LOG_LEVEL)
  const endpoint = await findEndpoint(settings.KUBECONFIG)
  if (!endpoint)
    throw new ConfigurationError(`No Kubernetes API: ${notAPod(process.env)}, and KUBECONFIG is not set either`)
  const home = await readFile(NAMESPACE, 'utf8').catch(() => undefined)
  return await startServer({
    ...{ settings, names: [], log, isReading: true },
    transport: createTransport(endpoint),
    mount: (app, questions) =>
      mountPage(app, questions, { assets: findAssets(), home: home?.trim(), audience: settings.EVENT_AUDIENCE }),
  })
})
