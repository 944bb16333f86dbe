import { describe, expect, test } from 'vitest'
import {
  findMeshConfigs,
  istiodHomes,
  type MeshMember,
  meshConfigLookups,
} from '../../../src/mesh/istio/mesh-config.ts'
import { type Lookup, observeLookups } from '../../../src/platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../../src/platform/kubernetes/objects.ts'

type Given = Readonly<Record<string, Record<string, string> | 'forbidden' | 'broken'>>

/** Objects by name with their labels. A ConfigMap has a config. */
const objectAt = (reference: Reference, given: Given): KubernetesObject | undefined => {
  const labels = given[nameOf(reference)]
  if (labels === undefined || labels === 'forbidden') return undefined
  const data = { mesh: labels === 'broken' ? '{' : 'trustDomain: a\n' }
  const { kind, namespace, name = '' } = reference
  const metadata = { name, ...(namespace !== undefined && { namespace }), ...(labels !== 'broken' && { labels }) }
  return { apiVersion: 'v1', kind, metadata, ...(kind === 'ConfigMap' && { data }) }
}

const found = async (given: Given, member: MeshMember = { namespace: 'shop' }, root?: string) => {
  const homes = istiodHomes(root)
  const read: string[] = []
  const find = async (reference: Reference) => {
    read.push(nameOf(reference))
    if (given[nameOf(reference)] === 'forbidden') throw Object.assign(new Error('no'), { status: 403 })
    return objectAt(reference, given)
  }
  const seen: ReadonlyMap<string, Lookup> = new Map(
    Object.entries(given).flatMap(([name, one]) => (one === 'forbidden' ? [[name, { problem: 'no' }] as const] : [])),
  )
  const lookups = await observeLookups({ find }, (known) => meshConfigLookups(member, homes, known), seen)
  expect(read).toEqual([...new Set(read)])
  const { configs, unknown } = findMeshConfigs([member], homes, lookups)
  return unknown ?? configs.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
}

const SHOP = 'Namespace shop'
const CONFIG = 'ConfigMap istio-system/istio'
const TAG = 'MutatingWebhookConfiguration istio-revision-tag'
const rev = (revision: string) => ({ 'istio.io/rev': revision })

describe('the config of an istiod', () => {
  test.each<[string, Given, string[]]>([
    ['has no revision in its name if nobody chooses one', { [SHOP]: {}, [CONFIG]: {} }, ['istio-system/istio']],
    [
      'is that of a revision',
      { [SHOP]: rev('1-29-1'), [CONFIG]: {}, [`${CONFIG}-1-29-1`]: {} },
      ['istio-system/istio-1-29-1'],
    ],
    ['is that of a revision of no name', { [SHOP]: rev('default'), [CONFIG]: {} }, ['istio-system/istio']],
    [
      'is that of the revision behind a tag',
      { [SHOP]: rev('prod'), [`${TAG}-prod`]: rev('1-29-1'), [`${CONFIG}-1-29-1`]: {} },
      ['istio-system/istio-1-29-1'],
    ],
    [
      'is that of the default tag, also while another one is there',
      { [SHOP]: {}, [`${TAG}-default`]: rev('1-29-1'), [CONFIG]: {}, [`${CONFIG}-1-29-1`]: {} },
      ['istio-system/istio-1-29-1'],
    ],
    [
      'is found without the right to read tags, as a revision',
      { [SHOP]: rev('1-29-1'), [`${TAG}-1-29-1`]: 'forbidden', [`${CONFIG}-1-29-1`]: {} },
      ['istio-system/istio-1-29-1'],
    ],
  ])('%s', async (_, given, expected) => {
    expect(await found(given)).toEqual(expected)
  })

  test('is that of a waypoint that chooses another one than its namespace', async () => {
    const given = { [SHOP]: rev('a'), 'Gateway shop/w': rev('b'), [`${CONFIG}-a`]: {}, [`${CONFIG}-b`]: {} }
    expect(await found(given, { namespace: 'shop', gateway: 'w' })).toEqual(['istio-system/istio-b'])
    expect(await found(given)).toEqual(['istio-system/istio-a'])
  })

  test('is looked for in the root namespace that somebody names, where tags have the name of that namespace', async () => {
    const given = { [SHOP]: rev('prod'), [`${TAG}-prod-mesh`]: rev('b'), 'ConfigMap mesh/istio-b': {} }
    expect(await found(given, { namespace: 'shop' }, 'mesh')).toEqual(['mesh/istio-b'])
  })

  test.each<[string, Given, string]>([
    ['is not there', { [SHOP]: rev('b'), [CONFIG]: {} }, 'there is no readable ConfigMap istio-system/istio-b'],
    ['may not be read', { [SHOP]: {}, [CONFIG]: 'forbidden' }, 'ConfigMap istio-system/istio may not be read'],
    [
      'is not to be understood',
      { [SHOP]: {}, [CONFIG]: 'broken' },
      'there is no readable ConfigMap istio-system/istio',
    ],
    ['is of a namespace that may not be read', { [SHOP]: 'forbidden', [CONFIG]: {} }, 'Namespace shop may not be read'],
    [
      'may be behind a tag that may not be read',
      { [SHOP]: rev('prod'), [`${TAG}-prod`]: 'forbidden', [CONFIG]: {} },
      'there is no readable ConfigMap istio-system/istio-prod, and MutatingWebhookConfiguration istio-revision-tag-prod may not be read',
    ],
  ])('is unknown if it %s', async (_, given, expected) => {
    expect(await found(given)).toBe(expected)
  })
})
