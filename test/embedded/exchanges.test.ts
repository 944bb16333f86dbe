import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sharedFile } from '../shared.ts'
import { createClient } from './client.ts'

type Body = Record<string, unknown>
type Exchange = {
  case: string
  method: string
  path: string
  contentType: string | null
  body: unknown
  status: number
  answer: unknown
}

const NAMESPACE = 'exchange'
const file = sharedFile('fixtures/apiserver/exchanges.json')

const placed = (text: string): string => text.replaceAll('{namespace}', NAMESPACE)
const neutral = (text: string): string => text.replaceAll(NAMESPACE, '{namespace}')
const withoutUids = (text: string): string =>
  text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')

/** Python's JSON, in which the recording writes ownership. */
const spaced = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`).join(', ')}}`
}

const statusOf = (object: Body): Body => {
  const causes = ((object.details as Body | undefined)?.causes as Body[] | undefined) ?? []
  return {
    kind: 'Status',
    status: object.status,
    reason: object.reason ?? null,
    code: object.code ?? null,
    message: neutral(withoutUids(String(object.message ?? ''))).slice(0, 400),
    causes: causes
      .map(({ reason, field }) => ({ reason, field }))
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  }
}

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

const byText = (causes: unknown): unknown =>
  Array.isArray(causes) ? causes.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : causes

const comparable = (answer: unknown): unknown =>
  typeof answer === 'object' && answer !== null && 'causes' in answer
    ? { ...answer, causes: byText(answer.causes) }
    : answer

test.skipIf(file === undefined)('answers as the recorded API server did (skipped without the recording)', () => {
  const exchanges = JSON.parse(readFileSync(file ?? '', 'utf8')) as Exchange[]
  const client = createClient()
  client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  const got = exchanges.map(({ case: name, method, path, contentType, body }) => {
    const text = body === null ? undefined : placed(typeof body === 'string' ? body : JSON.stringify(body))
    const { status, object } = client.call(method, placed(path), text, contentType ?? undefined)
    return { case: name, status, answer: comparable(kept(object)) }
  })
  const want = exchanges.map(({ case: name, status, answer }) => ({ case: name, status, answer: comparable(answer) }))
  expect(got).toEqual(want)
})
