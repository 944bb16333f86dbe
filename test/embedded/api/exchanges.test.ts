import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Client, createClient, TYPES } from '../client.ts'

type Body = Record<string, unknown>
type Exchange = {
  case: string
  method: string
  path: string
  contentType?: string
  body?: unknown
  status: number
  answer: unknown
}

const NAMESPACE = 'exchange'

/** What a real API server (1.36, with the CRDs of Istio) was asked, and answered. */
const recorded = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../fixtures/${name}.json`, import.meta.url), 'utf8'))

const placed = (text: string): string => text.replaceAll('{namespace}', NAMESPACE)
const neutral = (text: string): string => text.replaceAll(NAMESPACE, '{namespace}')
/** Python's JSON, in which the recording writes ownership. */
const spaced = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`).join(', ')}}`
}

/** A refusal without its words. */
const statusOf = (object: Body): Body => ({ status: object.status, reason: object.reason ?? null })

const managersOf = (metadata: Body): string[] =>
  ((metadata.managedFields as Body[] | undefined) ?? [])
    .filter(({ manager, subresource }) => !subresource && !/^(kube-|tester)/.test(String(manager)))
    .map(
      ({ manager, operation, fieldsV1 }) => `${manager} ${operation} ${operation === 'Apply' ? spaced(fieldsV1) : ''}`,
    )
    .toSorted()

const objectOf = (object: Body): Body => {
  const metadata = object.metadata as Body
  const spec = object.spec as { template?: { metadata: Body } } | undefined
  return {
    kind: object.kind,
    name: String(metadata.name).replace(/^(gen-).+/, '$1*'),
    labels: metadata.labels ? JSON.parse(neutral(JSON.stringify(metadata.labels))) : null,
    generation: metadata.generation ?? null,
    data: object.data ?? null,
    managers: managersOf(metadata),
    ...(object.kind === 'StatefulSet' && { 'template labels': spec?.template?.metadata.labels }),
    ...(object.kind === 'AuthorizationPolicy' && { spec }),
  }
}

const listOf = (object: Body): Body => ({
  kind: object.kind,
  names: (object.items as { metadata: { name: string } }[])
    .map(({ metadata }) => metadata.name)
    .filter((name) => !name.startsWith('gen-'))
    .toSorted(),
})

/** What a recording keeps of an answer. */
const kept = (object: Body | string): unknown => {
  if (typeof object === 'string') return object.trim()
  if (object.kind === 'Status') return statusOf(object)
  if (Array.isArray(object.items)) return listOf(object)
  if (object.kind === 'APIResourceList') {
    const names = (object.resources as { name: string }[]).map(({ name }) => name)
    return {
      kind: object.kind,
      groupVersion: object.groupVersion,
      has: names.filter((name) => /^(statefulsets|deployments)$/.test(name)).toSorted(),
    }
  }
  if (object.metadata === undefined)
    return Object.keys(object)
      .filter((key) => ['major', 'minor', 'gitVersion'].includes(key))
      .toSorted()
  return objectOf(object)
}

const comparable = (answer: unknown): unknown =>
  typeof answer === 'object' && answer !== null && 'status' in answer ? statusOf(answer as Body) : answer

const openClient = (): Client => {
  const client = createClient()
  client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  return client
}

const replay = (client: Client, { method, path, contentType, body }: Exchange) => {
  const text = body === undefined ? undefined : placed(typeof body === 'string' ? body : JSON.stringify(body))
  return client.call(method, placed(path), text, contentType)
}

test('answers as the recorded API server did', () => {
  const exchanges = recorded<Exchange[]>('exchanges')
  const client = openClient()
  const got = exchanges.map((exchange) => {
    const { status, object } = replay(client, exchange)
    return { case: exchange.case, status, answer: comparable(kept(object)) }
  })
  const want = exchanges.map(({ case: name, status, answer }) => ({ case: name, status, answer: comparable(answer) }))
  expect(got).toEqual(want)
})

const COLLECTIONS: Record<string, string> = {
  Deployment: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
  AuthorizationPolicy: `/apis/security.istio.io/v1/namespaces/${NAMESPACE}/authorizationpolicies`,
}

type Refused = { status: number; reason?: string }
type Tried = {
  case: string
  object: { kind: string; metadata: { name: string } }
  answers: Record<string, number | Refused>
}

/** The ways in which each object was sent. */
const waysOf = (client: Client, { kind, metadata, ...object }: Tried['object']) => {
  const collection = COLLECTIONS[kind] ?? ''
  const { name } = metadata
  const apply = (query: string) => () =>
    client.call('PATCH', `${collection}/${name}?fieldManager=alpha${query}`, { kind, metadata, ...object }, TYPES.apply)
  const create = (prefix: string, query: string) => () =>
    client.post(`${collection}?dryRun=All${query}`, { kind, ...object, metadata: { name: `${prefix}-${name}` } })
  return {
    'dry run of an apply': apply('&dryRun=All&fieldValidation=Strict'),
    apply: apply(''),
    'create strictly': create('s', '&fieldValidation=Strict'),
    create: create('c', ''),
  }
}

const refusedWith = ({ code, reason }: Body): Refused => ({
  status: Number(code),
  ...(reason !== undefined && { reason: String(reason) }),
})

test.each(recorded<Tried[]>('objects'))('$case: tried, applied and created as on the recorded API server', (tried) => {
  const client = openClient()
  const got = Object.entries(waysOf(client, tried.object)).map(([way, send]) => {
    const { status, object } = send()
    return [way, status < 300 ? status : refusedWith(object)]
  })
  const want = Object.entries(tried.answers).map(([way, answer]) => [
    way,
    typeof answer === 'number' ? answer : { status: answer.status, ...(answer.reason && { reason: answer.reason }) },
  ])
  expect(got).toEqual(want)
})

test('leases, lists, scales and status are answered as on the recorded API server', () => {
  const client = openClient()
  const good = recorded<Tried[]>('objects').find(({ case: name }) => name === 'good')
  client.call('PATCH', `${COLLECTIONS.Deployment}/good?fieldManager=alpha`, good?.object, TYPES.apply)
  const exchanges = recorded<Exchange[]>('subresources')
  const got = exchanges.map((exchange) => {
    const { status, object } = replay(client, exchange)
    return { case: exchange.case, status, answer: exchange.answer && comparable(kept(object)) }
  })
  const want = exchanges.map(({ case: name, status, answer }) => ({ case: name, status, answer: comparable(answer) }))
  expect(got).toEqual(want)
})
