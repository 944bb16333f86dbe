// The floor with the API classes of the official client, and so its transport.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ApiException, AppsV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node'

const { ROOT, READS = '[]', PORT } = process.env
const trips: readonly (readonly string[])[] = JSON.parse(READS)
const config = new KubeConfig()
config.loadFromCluster(ROOT)
const [core, apps] = [config.makeApiClient(CoreV1Api), config.makeApiClient(AppsV1Api)]

type Named = { readonly namespace: string; readonly name: string }

const READERS: Readonly<Record<string, (named: Named) => Promise<unknown>>> = {
  configmaps: (named) => core.readNamespacedConfigMap(named),
  services: (named) => core.readNamespacedService(named),
  statefulsets: (named) => apps.readNamespacedStatefulSet(named),
}

const read = async (path: string): Promise<unknown> => {
  const [name = '', plural = '', namespace = ''] = path.split('/').toReversed()
  return await READERS[plural]?.({ namespace, name }).catch((error: ApiException<unknown>) => {
    if (error.code !== 404) throw error
  })
}

const server = createServer(async (request, response) => {
  const { namespace, application } = JSON.parse(await text(request))
  const of = (path: string) => path.replace('{namespace}', namespace).replace('{application}', application)
  for (const paths of trips) await Promise.all(paths.map((path) => read(of(path))))
  response.end('{}')
})
server.listen(Number(PORT), () => process.stdout.write(`{"port":${(server.address() as AddressInfo).port}}\n`))
