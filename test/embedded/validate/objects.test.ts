import { describe, expect, test } from 'vitest'
import { type Cause, causesOf, forbidden, invalid, required, unsupported } from '../causes.ts'
import { CONFIG_MAPS, configMap, createClient, POLICIES, SERVICES } from '../client.ts'

type Body = Record<string, unknown>

const SECRETS = '/api/v1/namespaces/default/secrets'

const posted = (collection: string, object: Body) => {
  const { status, object: answer } = createClient().post(collection, { metadata: { name: 'a' }, ...object })
  return [status, causesOf(answer)]
}

const service = (spec: Body) => ({ spec: { ports: [{ port: 80 }], ...spec } })
const external = (externalName: string) => ({ spec: { type: 'ExternalName', externalName } })

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

test.each<[what: string, collection: string, object: Body, causes: readonly Cause[]]>([
  [
    'a name of another cluster that ends with two dots',
    SERVICES,
    external('a.b..'),
    [invalid('spec.externalName', 'a.b.', SUBDOMAIN)],
  ],
  ['no more than the root', SERVICES, external('.'), [required('spec.externalName')]],
  [
    'a name of a port in capitals',
    SERVICES,
    service({ ports: [{ port: 80, name: 'HTTP' }] }),
    [invalid('spec.ports[0].name', 'HTTP', LABEL)],
  ],
  [
    'an affinity that there is not',
    SERVICES,
    service({ sessionAffinity: 'X' }),
    [unsupported('spec.sessionAffinity', 'X', 'ClientIP', 'None')],
  ],
  [
    'a port of a node that it does not have',
    SERVICES,
    service({ ports: [{ port: 80, nodePort: 30080 }] }),
    [forbidden('spec.ports[0].nodePort', "may not be used when `type` is 'ClusterIP'")],
  ],
  ['this folder for a key', CONFIG_MAPS, { data: { '.': '' } }, [invalid('data[.]', '.', "must not be '.'")]],
  [
    'the folder above for a key',
    CONFIG_MAPS,
    { binaryData: { '..': '' } },
    [invalid('binaryData[..]', '..', "must not be '..'")],
  ],
  [
    'a key that the kubelet keeps for itself',
    SECRETS,
    { data: { '..data': '' } },
    [invalid('data[..data]', '..data', "must not start with '..'")],
  ],
  [
    'a key twice',
    CONFIG_MAPS,
    { data: { a: 'b' }, binaryData: { a: 'Yg==' } },
    [invalid('data[a]', 'a', 'duplicate of key present in binaryData')],
  ],
  [
    'neither a certificate nor its key',
    SECRETS,
    { type: 'kubernetes.io/tls' },
    [required('data[tls.crt]'), required('data[tls.key]')],
  ],
  [
    'no login',
    SECRETS,
    { type: 'kubernetes.io/dockerconfigjson', data: { a: '' } },
    [required('data[.dockerconfigjson]')],
  ],
])('an object is refused with %s', (_, collection, object, causes) => {
  expect(posted(collection, object)).toEqual([422, causes])
})

test.each<[what: string, collection: string, object: Body]>([
  ['a name of another cluster that ends with the dot of the root', SERVICES, external('a.b.c.')],
  ['the name of its one port', SERVICES, service({ ports: [{ port: 80, name: 'http' }] })],
  ['a certificate and its key', SECRETS, { type: 'kubernetes.io/tls', stringData: { 'tls.crt': '', 'tls.key': '' } }],
  ['a type of its own', SECRETS, { type: 'constructor' }],
  ['a key with dots', CONFIG_MAPS, { data: { '.a..b': '' } }],
])('an object is taken with %s', (_, collection, object) => {
  expect(posted(collection, object)).toEqual([201, []])
})

describe('the metadata of an object', () => {
  const FIELD = 'metadata.finalizers'
  const ALIEN = 'name is neither a standard finalizer name nor is it fully qualified'
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: 'c' }

  test('has finalizers whose names are qualified', () => {
    const { object } = createClient().post(CONFIG_MAPS, configMap('a', {}, { finalizers: ['a b', 'orphan', 'x/y'] }))
    expect(causesOf(object)).toEqual([invalid(FIELD, 'a b', NAME), invalid(`${FIELD}[0]`, 'a b', ALIEN)])
  })

  test('of a custom resource may have a finalizer of one word', () => {
    const policy = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' }
    const finalizers = (...names: string[]) => ({ ...policy, metadata: { name: 'a', finalizers: names } })
    expect(createClient().post(POLICIES, finalizers('word')).status).toBe(201)
    expect(causesOf(createClient().post(POLICIES, finalizers('a b')).object)).toEqual([invalid(FIELD, 'a b', NAME)])
  })

  test.each([
    ['apiVersion', 'version must not be empty'],
    ['kind', 'must not be empty'],
    ['name', 'must not be empty'],
    ['uid', 'must not be empty'],
  ])('names its owner by %s', (key, why) => {
    const ownerReferences = [{ ...owner, [key]: '' }]
    const client = createClient()
    const { object } = client.post(CONFIG_MAPS, configMap('a', {}, { ownerReferences }))
    const cause = invalid(`metadata.ownerReferences.${key}`, '', why)
    expect(causesOf(object)).toEqual([cause])
    client.post(CONFIG_MAPS, configMap('a', {}, { ownerReferences: [owner] }))
    const { object: answer } = client.patch(`${CONFIG_MAPS}/a`, 'merge', { metadata: { ownerReferences } })
    expect(causesOf(answer)).toContainEqual(cause)
  })
})
