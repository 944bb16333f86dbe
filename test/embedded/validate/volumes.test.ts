import { expect, test } from 'vitest'
import { type Cause, causesOf, forbidden, invalid, mounted, podSpec, required, template, volume } from '../causes.ts'
import { createClient, DEPLOYMENTS } from '../client.ts'

type Body = Record<string, unknown>

const VOLUME = 'spec.template.spec.volumes[0]'
const MODE = 'must be a number between 0 and 0777 (octal), both inclusive'

const file = (fields: Body): Body => ({ configMap: { name: 'a', items: [{ key: 'k', path: 'p', ...fields }] } })
const name = { fieldRef: { fieldPath: 'metadata.name' } }

test.each<[what: string, source: Body, causes: readonly Cause[]]>([
  [
    'two sources in one',
    { projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'c' } }] } },
    [forbidden(`${VOLUME}.projected.sources[0]`, 'may not specify more than 1 volume type per source')],
  ],
  [
    'a source without a name',
    { projected: { sources: [{ secret: {} }] } },
    [required(`${VOLUME}.projected.sources[0].secret.name`)],
  ],
  [
    'a path out of the volume',
    file({ path: '../x' }),
    [invalid(`${VOLUME}.configMap.items[0].path`, '../x', "must not contain '..'")],
  ],
  [
    'a path from the root',
    { secret: { secretName: 's', items: [{ key: 'k', path: '/x' }] } },
    [invalid(`${VOLUME}.secret.items[0].path`, '/x', 'must be a relative path')],
  ],
  [
    'a path that the kubelet keeps for itself',
    { projected: { sources: [{ configMap: { name: 'c', items: [{ key: 'k', path: '..data' }] } }] } },
    [invalid(`${VOLUME}.projected.sources[0].configMap.items[0].path`, '..data', "must not start with '..'")],
  ],
  [
    'a file without a key and a path',
    file({ key: '', path: '' }),
    ['key', 'path'].map((key) => required(`${VOLUME}.configMap.items[0].${key}`)),
  ],
  [
    'a path out of the volume, of a field',
    { downwardAPI: { items: [{ path: 'a/../b', ...name }] } },
    [invalid(`${VOLUME}.downwardAPI.items[0].path`, 'a/../b', "must not contain '..'")],
  ],
  [
    'a file of nothing',
    { downwardAPI: { items: [{ path: 'a' }] } },
    [required(`${VOLUME}.downwardAPI.items[0]`, 'one of fieldRef and resourceFieldRef is required')],
  ],
  ['a mode of one file', file({ mode: 0o1000 }), [invalid(`${VOLUME}.configMap.items[0].mode`, 512, MODE)]],
  ...[
    ['configMap', { name: 'a' }],
    ['secret', { secretName: 'a' }],
    ['downwardAPI', {}],
    ['projected', {}],
  ].map(([source, fields]): [string, Body, Cause[]] => [
    `a mode that files do not have, in ${source}`,
    { [String(source)]: { ...(fields as Body), defaultMode: 0o1000 } },
    [invalid(`${VOLUME}.${source}.defaultMode`, 512, MODE)],
  ]),
])('a volume is refused with %s', (_, source, causes) => {
  const { status, object } = createClient().post(DEPLOYMENTS, template(podSpec(mounted({}), volume(source))))
  expect([status, causesOf(object)]).toEqual([422, causes])
})

test.each<[what: string, source: Body]>([
  ['all modes', { secret: { secretName: 's', defaultMode: 0o777, items: [{ key: 'k', path: 'p', mode: 0 }] } }],
  ['a path with dots', file({ path: 'a..b/...c' })],
  [
    'a resource of a container',
    { downwardAPI: { items: [{ path: 'a', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } }] } },
  ],
])('a volume is taken with %s', (_, source) => {
  const { status, object } = createClient().post(DEPLOYMENTS, template(podSpec(mounted({}), volume(source))))
  expect([status, object.message]).toEqual([201, undefined])
})
