import { type Event, writeEvent } from '../../src/cloudevents/cloud-event.ts'
import { sourceEvent } from '../../src/embedded/source-event.ts'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../../src/kubernetes/ownership-labels.ts'
import { createWorld, event, meshRelation, NAMESPACE, named, service, type World, workload } from './world.ts'

export const TENANT = 'tenant'
export const AUTHOR = 'meshstep.dev/author'
const GROUPS = 'meshstep.dev/author-groups'

const guard: KubernetesObject[] = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map((kind) => ({
  ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: `meshstep-documents-${NAMESPACE}` } },
  spec: { policyName: `meshstep-documents-${NAMESPACE}`, validationActions: ['Deny'], validations: [] },
}))

/**
 * The sources may tell of everything, and use nothing of others; `rights` are `{user}: {subresource} {name}`, or
 * `{user}: {verb} {resource} {name}`. The tenant's token is `mine`.
 */
export const createTenants = (
  rights: Set<string>,
  options: { isOwnSink?: boolean; senders?: readonly string[] } = {},
): World =>
  createWorld(
    ['a', 'b', 'beacon'].flatMap((name) => [named(workload('StatefulSet', name)), named(service(name))]).concat(guard),
    {
      ...options,
      tokens: { mine: TENANT },
      allows: (about, user) => (user === 'somebody' && !isUse(about)) || rights.has(`${user}: ${about}`),
    },
  )

const isUse = (about: string): boolean => /^(impersonate|get|patch) /.test(about)

export type Written = { name?: string; author?: string | undefined; groups?: string }

const configMap = (kind: string, data: Record<string, string>, written: Written = {}): KubernetesObject => {
  const { name = 'document', author = 'author' in written ? undefined : TENANT, groups } = written
  const annotations = {
    ...(author !== undefined && { [AUTHOR]: author }),
    ...(groups !== undefined && { [GROUPS]: groups }),
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE, labels: { 'meshstep.dev/kind': kind }, annotations },
    data,
  }
}

export const config = (text: string, written?: Written, application = 'a') =>
  configMap('config', { application, config: text }, written)

export const relation = (remote: string, written?: Written, application = 'a', about = meshRelation().relation) =>
  configMap('relation', { application, relation: JSON.stringify(about), remote }, written)

const stored = (world: World, name: string) =>
  world.api.objects().find((one) => one.kind === 'ConfigMap' && one.metadata.name === name)

/** Writes a document, and hands the events of the cluster's source to the functions. */
export const write = async (world: World, document: KubernetesObject) => {
  const { name } = document.metadata
  const isThere = stored(world, name) !== undefined
  if (isThere) remove(world, name)
  world.api.seed([document], { manager: 'kubectl' })
  const sent = sourceEvent({ type: isThere ? 'MODIFIED' : 'ADDED', object: document })
  return await tell(world, sent)
}

export const remove = (world: World, name: string) =>
  world.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`, headers: {} })

export const erase = async (world: World, name: string) => {
  const object = stored(world, name)
  if (object === undefined) throw new Error(`${name} is not there`)
  remove(world, name)
  return await tell(world, sourceEvent({ type: 'DELETED', object }))
}

export const tell = async (world: World, sent: ReturnType<typeof sourceEvent>) => {
  if (sent === undefined) throw new Error('no event')
  const response = await world.post({ ...sent, time: new Date(world.clock.now()).toISOString() })
  return { status: response.status, text: await response.text() }
}

/** Sends an event as the tenant, of now if no time is given. */
export const send = async (world: World, sent: Event, time = new Date(world.clock.now()).toISOString()) => {
  const { headers, body } = writeEvent({ ...sent, time })
  const response = await world.app.request('/', {
    ...{ method: 'POST', body },
    headers: { ...headers, authorization: 'Bearer mine' },
  })
  return { status: response.status, text: await response.text() }
}

export const resync = async (world: World) => {
  const response = await world.post(event('resync', { application: undefined }))
  return { status: response.status, text: await response.text() }
}

/** All but documents, the memory of `a`, what it owns, and what has its name. */
export const outside = (world: World): string[] =>
  world.api
    .objects()
    .filter(({ kind, metadata: { name, labels = {} } }) => {
      const isDocument = labels['meshstep.dev/kind'] !== undefined
      const isOwn = labels[APPLICATION_LABEL] === 'a' || name === 'a' || /^a-\d+$/.test(name)
      return !isDocument && !isOwn && kind !== 'Event'
    })
    .map((object) => JSON.stringify(object))
