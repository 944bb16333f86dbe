import type { Condition } from '../../src/platform/base/condition.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, isRolledOut, openCluster } from './cluster.ts'
import { conditionsOf, deployed, lint } from './istio.ts'

export const SLOW = 120_000
const NAMES = ['beacon', 'db', 'web', 'other']
export const DB = { application: 'db' }
export const READ = { type: 'app', relation: 'db', endpoints: [{ methods: ['GET'] }] }
export const WHOLE = { type: 'app', relation: 'db', endpoints: [] }
export const PODS = { type: 'unit', relation: 'db', ports: [9113] }

export const mesh = (id: number, application: string) => ({
  application,
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data: {} },
})

export const USE = {
  ...DB,
  relation: { id: 3, endpoint: 'db', interface: 'http', role: 'provides' },
  remote: { application: 'web', data: {} },
}

/** Steps of all until none of them writes anything, and pods are as their workloads have them. */
export const settle = async (cluster: Cluster, names: readonly string[] = NAMES): Promise<void> => {
  await until(
    'nothing is left to do',
    async () => {
      const steps = []
      for (const application of names) steps.push(await cluster.send('resync', { application }))
      if (steps.some((step) => 'written' in step && step.written.length > 0)) return false
      return (await cluster.kubernetes.list('Deployment', cluster.namespace)).every(isRolledOut)
    },
    60_000,
  )
}

export const ours = async ({ kubernetes, namespace }: Cluster): Promise<KubernetesObject[]> => {
  const selector = `app.kubernetes.io/managed-by=meshstep,meshstep.dev/namespace=${namespace}`
  const [policies, gateways, services] = await Promise.all([
    kubernetes.list('AuthorizationPolicy', undefined, selector),
    kubernetes.list('Gateway', namespace, selector),
    kubernetes.list('Service', namespace),
  ])
  const isLed = ({ metadata }: KubernetesObject) => metadata.labels?.['istio.io/use-waypoint'] !== undefined
  return [...policies, ...gateways, ...services.filter(isLed)]
}

const TYPES = ['ZtunnelAccepted', 'WaypointAccepted', 'Accepted', 'istio.io/WaypointBound']

/** Says of an object by its conditions alone: taken, not yet, or refused. */
export const saidOf = (object: KubernetesObject): 'taken' | 'pending' | 'refused' => {
  const current = conditionsOf(object).filter(
    ({ type, reason, observedGeneration: seen }) =>
      TYPES.includes(type) &&
      reason !== 'Pending' &&
      (seen === undefined || Number(seen) === object.metadata.generation),
  )
  if (current.length === 0) return 'pending'
  return current.every(({ status }) => status === 'True') ? 'taken' : 'refused'
}

export const nameOf = ({ kind, metadata: { namespace, name } }: KubernetesObject) => `${kind} ${namespace}/${name}`

/** The objects that answers say to be not enforced: outcomes of all, views and lint of each application. */
export const toldOf = async (cluster: Cluster) => {
  const outcomes = await Promise.all(NAMES.map((application) => cluster.send('resync', { application })))
  const views = await Promise.all(NAMES.map((application) => cluster.view(application)))
  const isOfIstio = ({ for: who }: Pick<Condition, 'for'>) => who?.includes('Istio') === true
  const held = (conditions: readonly Pick<Condition, 'for' | 'object'>[]) =>
    conditions
      .filter(isOfIstio)
      .map(({ object }) => object)
      .toSorted()
  const objects = (await ours(cluster)).map(nameOf)
  const findings = (await lint(cluster)).filter(({ rule }) => rule === 'waiting')
  const found = (application: string) => {
    const messages = findings
      .filter(({ about }) => about === `${cluster.namespace}/${application}`)
      .map(({ message }) => message)
    return objects.filter((name) => messages.some((message) => message.includes(`${name} `))).toSorted()
  }
  return {
    outcomes: outcomes.flatMap((outcome) => held(('conditions' in outcome && outcome.conditions) || [])).toSorted(),
    views: Object.fromEntries(views.map(({ application, conditions }) => [application, held(conditions)])),
    statuses: Object.fromEntries(views.map(({ application, status }) => [application, status.status])),
    lint: Object.fromEntries(NAMES.map((application) => [application, found(application)])),
  }
}

/** Says of objects who tells them: who wrote them, db of the policies that guard it. */
export const tellersOf = (names: readonly string[]) => ({
  beacon: names.filter((name) => !name.includes('-policy-db-')),
  db: names.filter((name) => name.includes('-policy-db-')),
  web: [],
  other: [],
})

/** Waits until istiod has said something of each object as it is now. */
export const taken = async (cluster: Cluster): Promise<void> => {
  await until('istiod has taken each object', async () =>
    (await ours(cluster)).every((one) => saidOf(one) !== 'pending'),
  )
}

export const createShop = async (config: Record<string, unknown>, policies: readonly unknown[]): Promise<Cluster> => {
  const cluster = await openCluster()
  for (const name of ['db', 'web', 'other'])
    for (const object of deployed(cluster.namespace, name)) await cluster.make(object)
  await cluster.send('config-changed', { application: 'beacon', config: { mesh: config } })
  await cluster.send('config-changed', { ...DB, config: { policies } })
  await cluster.send('relation-changed', USE)
  for (const [index, name] of ['db', 'web', 'other'].entries())
    await cluster.send('relation-changed', mesh(7 + index, name))
  if (config.waypoint !== false) await until('the waypoint serves', () => isServing(cluster), 30_000)
  await settle(cluster)
  return cluster
}

export const isServing = async ({ kubernetes, namespace }: Cluster): Promise<boolean> => {
  const gateways = await kubernetes.list('Gateway', namespace)
  return gateways.some(({ status }) => ((status ?? {}) as { addresses?: unknown[] }).addresses?.length)
}
