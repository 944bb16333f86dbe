import { type Event, writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { sourceEvent } from '../../src/platform/cloudevents/knative/source-event.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { documentsIn, isOutside, TENANT } from './tenant-documents.ts'
import { createWorld, event, NAMESPACE, service, type World, workload } from './world.ts'

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
  createWorld(['a', 'b', 'beacon'].flatMap((name) => [workload('StatefulSet', name), service(name)]).concat(guard), {
    ...options,
    tokens: { mine: TENANT },
    allows: (about, user) => (user === 'somebody' && !isUse(about)) || rights.has(`${user}: ${about}`),
  })

const isUse = (about: string): boolean => /^(impersonate|get|patch) /.test(about)

export const { config, relation } = documentsIn(NAMESPACE)

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

export const tell = async (world: World, sent: ReturnType<typeof sourceEvent>, time = world.clock.now()) => {
  if (sent === undefined) throw new Error('no event')
  const response = await world.post({ ...sent, time: new Date(time).toISOString() })
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

/** All that is of no tenant. */
export const outside = (world: World): string[] =>
  world.api
    .objects()
    .filter(isOutside)
    .map((object) => JSON.stringify(object))
