import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sourceEvent } from '../../src/platform/cloudevents/knative/source-event.ts'
import { isForbidden } from '../../src/platform/kubernetes/api-error.ts'
import { isKind, type KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { ADMIN, anyDocument, documentsIn, isOutside } from '../helpers/tenant-documents.ts'
import { anyEvent, type SentEvent } from '../helpers/tenant-events.ts'
import { event } from '../helpers/world.ts'
import { KubeObject } from '../knative/kinds.ts'
import { until } from '../process/helpers.ts'
import { admissionIn } from './admission.ts'
import { type Cluster, isRolledOut, noCluster, openCluster } from './cluster.ts'
import { findListable, readEverything } from './everything.ts'
import { bound, configMaps, type Rule, update } from './rbac.ts'

const TENANT = 'tenant'
/** Has what the tenant lacks. */
const OWNER = 'owner'
/** Tells of documents, as the Trigger does. */
const SOURCES = 'sources'

const all = update(['applications', ...['workload', 'policies', 'mesh', 'root'].map((one) => `applications/${one}`)])
const labelling: Rule = { apiGroups: ['apps', ''], resources: ['statefulsets', 'services'], verbs: ['patch'] }
const ACCOUNTS: Record<string, Rule[]> = {
  [TENANT]: [configMaps, update(['applications'], ['a'])],
  [OWNER]: [configMaps, update(['applications', 'applications/workload', 'applications/mesh']), labelling],
  [SOURCES]: [all],
}

let cluster: Cluster
let elsewhere: string
let listable: Awaited<ReturnType<typeof findListable>>

const userOf = (account: string) => `system:serviceaccount:${cluster.namespace}:${account}`

/** A workload of a name, which runs as an account of that name, and its Service. */
const deployed = (namespace: string, name: string): KubernetesObject[] => {
  const own = { 'app.kubernetes.io/name': name }
  const podSpec = {
    serviceAccountName: name,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'x', image: 'example.invalid/x:1' }],
  }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name, namespace } },
      spec: {
        selector: { matchLabels: own },
        serviceName: name,
        template: { metadata: { labels: own }, spec: podSpec },
      },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace } },
      spec: { selector: own, ports: [{ port: 80 }] },
    },
  ]
}

/** All that is not the tenant's, by name: of kinds that the functions write, or of all. */
const outside = async (isAsked: (kind: string) => boolean = isKind): Promise<Record<string, KubernetesObject>> => {
  const asked = listable.filter(({ kind }) => isAsked(kind))
  const found = await readEverything(cluster, asked, [cluster.namespace, elsewhere])
  const others = found.filter((one) => one.metadata.namespace !== cluster.namespace || isOutside(one))
  return Object.fromEntries(
    others.map((one) => [[one.apiVersion, one.kind, one.metadata.namespace, one.metadata.name].join(' '), one]),
  )
}

const find = (name: string) => cluster.kubernetes.find({ kind: 'ConfigMap', namespace: cluster.namespace, name })

const tell = async (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubernetesObject): Promise<number> => {
  const sent = sourceEvent({ type, object })
  if (sent === undefined) throw new Error(`${object.metadata.name} is no document`)
  return (await cluster.post(sent, SOURCES)).status
}

/** Has a user write a document, and tells the functions. Undefined where the API server does not let it in. */
const write = async (user: string, document: KubernetesObject): Promise<number | undefined> => {
  const writer = cluster.as(user)
  const isThere = (await find(document.metadata.name)) !== undefined
  try {
    const object = isThere ? await writer.replace(document, 'kubectl') : await writer.create(document)
    return await tell(isThere ? 'MODIFIED' : 'ADDED', object)
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

const erase = async (user: string, name: string): Promise<void> => {
  const object = await find(name)
  if (!object) return
  await cluster.as(user).remove(object)
  await tell('DELETED', object)
}

const resync = async () => {
  const about = { namespace: cluster.namespace, application: undefined }
  const response = await cluster.post({ ...event('resync', about), time: new Date().toISOString() }, SOURCES)
  expect(response.status, await response.text()).toBe(200)
}

const asked = (account: string) => ({ namespace: cluster.namespace, elsewhere, tenant: userOf(account) })

const forged = { names: ['of-b', 'of-beacon'], authors: [ADMIN] }

/** Who may do what, and what runs, in a namespace and in another one. */
const install = async (namespace: string): Promise<void> => {
  const accounts = Object.keys(ACCOUNTS).map((name) => ({
    ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
  }))
  const applications = ['a', 'b', 'beacon'].flatMap((name) => deployed(namespace, name))
  const other = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: elsewhere } }
  const made = [other, ...accounts, ...applications, ...deployed(elsewhere, 'b')]
  await cluster.install([
    ...made.map((one) => KubeObject.parse(one)),
    ...Object.entries(ACCOUNTS).flatMap(([name, rules]) =>
      bound(namespace, name, rules, { kind: 'ServiceAccount', name, namespace }),
    ),
    ...bound(namespace, ADMIN, [configMaps, all], { kind: 'User', name: ADMIN }),
    ...admissionIn('documents.yaml', namespace),
  ])
}

/** Why the API server does not let a tenant write a document of another application, if it has a reason. */
const refusalOfOther = async (): Promise<string | undefined> => {
  const document = documentsIn(cluster.namespace, userOf(TENANT)).config('{}', { name: 'one' }, 'b')
  try {
    await cluster.erase(await cluster.as(userOf(TENANT)).create(document))
    return undefined
  } catch (error) {
    return String(error)
  }
}

beforeAll(async () => {
  cluster = await openCluster(['authentication', 'mesh'])
  const { namespace } = cluster
  elsewhere = `${namespace}-bank`
  await install(namespace)
  listable = await findListable(cluster)
  if (!noCluster)
    await until('documents are guarded', async () => (await refusalOfOther())?.includes('applications.meshstep.dev'))
  const { config, relation } = documentsIn(namespace, ADMIN)
  const ofBeacon = config('mesh: {}', { name: 'of-beacon' }, 'beacon')
  expect(await until('an administrator may write', () => write(ADMIN, ofBeacon))).toBe(200)
  expect(await write(ADMIN, relation('{ application: beacon, data: {} }', { name: 'of-b' }, 'b'))).toBe(200)
  const isOnMesh = async () => {
    await resync()
    const template = (await cluster.kubernetes.find({ kind: 'StatefulSet', namespace, name: 'b' }))?.spec?.template
    return JSON.stringify(template).includes('istio.io/dataplane-mode')
  }
  await until('b is on the mesh', isOnMesh, 60_000)
  await until('all is as it will be', isSteady, 60_000)
})
afterAll(() => cluster?.close())

/** Nobody has anything left to do: neither the functions nor the controllers of workloads. */
const isSteady = async (): Promise<boolean> => {
  const before = JSON.stringify(await outside())
  await resync()
  const lists = await Promise.all(
    (['StatefulSet', 'Deployment'] as const).map((kind) => cluster.kubernetes.list(kind, cluster.namespace)),
  )
  return (noCluster || lists.flat().every(isRolledOut)) && JSON.stringify(await outside()) === before
}

/** What an admission policy does not decide on an embedded API: who may end a document. */
const mayErase = ({ data }: KubernetesObject): boolean => !noCluster || data?.application === 'a'

/** From here on the API server itself writes down who writes a document, where it can. */
const writeAuthorsDown = async (): Promise<void> => {
  if (!listable.some(({ kind }) => kind === 'MutatingAdmissionPolicy')) return
  await cluster.install(admissionIn('authors.yaml', cluster.namespace))
  const unnamed = documentsIn(cluster.namespace).config('{}', { name: 'unnamed', author: undefined })
  await until('authors are written down', () => write(userOf(TENANT), unnamed))
}

const sendAs = async (account: string, { event: sent, ago }: SentEvent) =>
  await cluster.post({ ...sent, time: new Date(Date.now() - ago).toISOString() }, account)

/** What the functions answer of it, and undefined for what the API server does not let in. */
const expectAnswers = (seen: ReadonlySet<number | undefined>, fair: readonly (number | undefined)[]): void => {
  expect(fair).toEqual(expect.arrayContaining([...seen]))
  expect(seen).toEqual(new Set(fair))
}

describe('who may update one application, and no effect, changes nothing outside it', () => {
  test('somebody who may update one application, and no effect, changes nothing outside it by many documents', async () => {
    const isCompared = (kind: string) => !kind.startsWith('MutatingAdmissionPolicy')
    const [whole, before] = [await outside(isCompared), await outside()]
    const seen = new Set<number | undefined>()
    const user = userOf(TENANT)
    const writeEach = async (documents: readonly KubernetesObject[]) => {
      for (const [index, document] of documents.entries()) {
        const status = await write(user, document)
        seen.add(status)
        if (index % 10 === 5) await resync()
        if (index % 7 === 3 && status !== undefined && mayErase(document)) await erase(user, document.metadata.name)
        expect(await outside(), JSON.stringify(document)).toEqual(before)
      }
    }
    // nobody but an admission policy refuses those that are forged
    const all = anyDocument(noCluster ? asked(TENANT) : { ...asked(TENANT), forged })
    const documents = fc.sample(all, 80)
    await writeEach(documents.slice(0, documents.length / 2))
    await writeAuthorsDown()
    await writeEach(documents.slice(documents.length / 2))
    expectAnswers(seen, [200, 400, 403, ...(noCluster ? [] : [undefined])])
    expect(await outside(isCompared)).toEqual(whole)
  })

  test('somebody who may update one application, and no effect, changes nothing outside it by many events', async () => {
    const [whole, before] = [await outside(() => true), await outside()]
    const seen = new Set<number>()
    for (const [index, sent] of fc.sample(anyEvent({ ...asked(TENANT), forged }), 80).entries()) {
      seen.add((await sendAs(TENANT, sent)).status)
      if (index % 10 === 5) await resync()
      expect(await outside(), JSON.stringify(sent)).toEqual(before)
    }
    expectAnswers(seen, [200, 400, 403])
    expect(await outside(() => true)).toEqual(whole)
  })
})

describe('who may update others, and has effects, changes them', () => {
  /** Goes on until something is changed that the functions alone write. */
  const isChangedBy = async <T>(all: readonly T[], act: (one: T) => Promise<unknown>): Promise<boolean> => {
    const read = async () => JSON.stringify(await outside((kind) => ['ConfigMap', 'StatefulSet'].includes(kind)))
    const before = await read()
    for (const one of all) {
      await act(one)
      if ((await read()) !== before) return true
    }
    return false
  }

  test('somebody who may update others, and has effects, changes them by such documents', async () => {
    const documents = fc.sample(anyDocument(asked(OWNER)), 200)
    expect(await isChangedBy(documents, (document) => write(userOf(OWNER), document))).toBe(true)
  })

  test('somebody who may update others, and has effects, changes them by such events', async () => {
    const events = fc.sample(anyEvent(asked(OWNER)), 200)
    expect(await isChangedBy(events, (sent) => sendAs(OWNER, sent))).toBe(true)
  })
})
