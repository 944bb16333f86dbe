import { type Json, type JsonMap, mapOf } from '../kinds/json.ts'
import { changed, each, filled } from './defaults-fill.ts'

const pulled = (image: Json | undefined): string => {
  const name =
    String(image ?? '')
      .split('/')
      .at(-1) ?? ''
  const tag = name.includes('@') ? 'digest' : (name.split(':')[1] ?? 'latest')
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}

const probe = (value: Json): Json => {
  const filledProbe = filled(mapOf(value), {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })
  return changed(filledProbe, 'httpGet', (get) => filled(mapOf(get), { path: '/', scheme: 'HTTP' }))
}

const probes = ['livenessProbe', 'readinessProbe', 'startupProbe']

const environment = each((variable) =>
  changed(variable, 'valueFrom', (from) =>
    changed(mapOf(from), 'fieldRef', (ref) => filled(mapOf(ref), { apiVersion: 'v1' })),
  ),
)

const container = (map: JsonMap): JsonMap => {
  const complete = filled(map, {
    imagePullPolicy: pulled(map.image),
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
  const probed = probes.reduce((sum, name) => changed(sum, name, probe), complete)
  const ported = changed(
    probed,
    'ports',
    each((port) => filled(port, { protocol: 'TCP' })),
  )
  return changed(ported, 'env', environment)
}

const volumeModes = ['configMap', 'secret', 'projected', 'downwardAPI']

const volume = (map: JsonMap): JsonMap =>
  volumeModes.reduce((sum, name) => changed(sum, name, (source) => filled(mapOf(source), { defaultMode: 420 })), map)

/** The spec of a pod or pod template with its defaults. */
export const podSpec = (spec: Json): Json => {
  const complete = filled(mapOf(spec), {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  })
  const contained = ['containers', 'initContainers'].reduce(
    (sum, name) => changed(sum, name, each(container)),
    complete,
  )
  const account = contained.serviceAccountName ?? contained.serviceAccount
  const named =
    account === undefined ? contained : filled(contained, { serviceAccount: account, serviceAccountName: account })
  return changed(named, 'volumes', each(volume))
}
