import { describe, expect, test } from 'vitest'
import type { Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { ApiError } from '../../../src/platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { custom, pods } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'
import { reading } from './reading.ts'

type Asked = { readonly kind: string; readonly namespace?: string | undefined; readonly name?: string }

const IN_NAMESPACES = ['Service', 'StatefulSet', 'Deployment', 'Pod']

/** Of these, what the functions may read: in `shop` alone, where it is not said. */
const reader = (
  objects: readonly KubernetesObject[],
  isForbidden = ({ kind, namespace: of, name }: Asked): boolean =>
    (IN_NAMESPACES.includes(kind) && of !== 'shop') || (kind === 'Namespace' && name !== 'shop'),
): Kubernetes => {
  const all = reading(objects)
  const refuse = ({ kind }: Asked) => {
    throw new ApiError(`LIST ${kind}`, 403, '{"kind":"Status","reason":"Forbidden"}', createMemo())
  }
  return {
    ...all,
    find: async (asked) => (isForbidden(asked) ? refuse(asked) : await all.find(asked)),
    pages: async (kind, of, selector, keep) =>
      isForbidden({ kind, namespace: of }) ? refuse({ kind }) : await all.pages(kind, of, selector, keep),
  }
}

const cluster = [ISTIO, ...['shop', 'pz'].map(namespace), ...onMesh('db'), ...onMesh('web'), ...onMesh('pay', 'pz')]

const allowing = (...sources: object[]) =>
  custom('allowed', {
    ...pods('db'),
    action: 'ALLOW',
    rules: [{ from: sources.map((source) => ({ source })) } as Rule],
  })

const narrowed = (before: KubernetesObject, after: KubernetesObject, more: readonly KubernetesObject[] = []) => {
  const objects = [...cluster, ...more, before]
  return planned(objects, { before: [before], after: [after] }, { kubernetes: reader(objects) })
}

/** As above, but namespaces may be listed. */
const named = (before: KubernetesObject, after: KubernetesObject, more: readonly KubernetesObject[] = []) => {
  const objects = [...cluster, ...more, before]
  const isForbidden = ({ kind, namespace: of }: Asked) => IN_NAMESPACES.includes(kind) && of !== 'shop'
  return planned(objects, { before: [before], after: [after] }, { kubernetes: reader(objects, isForbidden) })
}

describe('where neither namespaces nor what is in them may be listed, a plan', () => {
  test('where neither namespaces nor what is in them may be listed, a plan is incomplete as soon as a change may concern those of which nothing is seen', async () => {
    const nothing = custom('nothing', { action: 'DENY', rules: [{}] }, { namespace: 'istio-system' })
    const audited = { ...nothing, spec: { action: 'ALLOW', rules: [{}] } }
    const plan = await narrowed(audited, { ...audited, metadata: { ...audited.metadata, labels: { team: 'x' } } })
    expect(plan.incomplete).toContain(
      'it is not known how access to the applications of namespaces that are not seen changes: the functions may not list Namespace, Service',
    )
    expect(codeOf(plan)).toBe(3)
  })

  test('where neither namespaces nor what is in them may be listed, a plan tells what whoever is in them loses', async () => {
    const plan = await narrowed(allowing({ principals: ['*'] }), allowing({ namespaces: ['shop'] }))
    expect(lines(plan)).toEqual(['- */* → shop/db :9080', '- */* → shop/db (pods) :9080'])
    expect(codeOf(plan)).toBe(2)
  })

  test('where neither namespaces nor what is in them may be listed, a plan tells what those of the namespaces lose that a pattern is about', async () => {
    const plan = await narrowed(allowing({ namespaces: ['shop', 'p*'] }), allowing({ namespaces: ['shop'] }))
    expect(lines(plan)).toContain('- p*/* → shop/db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('where neither namespaces nor what is in them may be listed, a plan says nothing of them where the change is none of theirs', async () => {
    const shop = ['shop', 'other']
    const plan = await narrowed(allowing({ namespaces: shop }), allowing({ namespaces: shop, notNamespaces: [] }))
    expect([lines(plan), plan.incomplete, codeOf(plan)]).toEqual([[], [], 0])
  })
})

describe('where what is in a namespace may not be listed, a plan', () => {
  test.each([
    ['ends with a name', ['*/sa/pay'], '- pz/sa/pay → shop/db :9080'],
    ['ends with a part of one', ['*ay'], '- pz/sa/*ay → shop/db :9080'],
    ['begins with a part of one', ['cluster.local/ns/pz/sa/p*'], '- pz/sa/p* → shop/db :9080'],
  ])(
    'where what is in a namespace may not be listed, a plan tells what its accounts lose of which a pattern %s',
    async (_, principals, line) => {
      const own = 'cluster.local/ns/shop/sa/web'
      const plan = await named(allowing({ principals: [own, ...principals] }), allowing({ principals: [own] }))
      expect(lines(plan)).toContain(line)
      expect(codeOf(plan)).toBe(2)
    },
  )

  test('where what is in a namespace may not be listed, a plan is incomplete where a policy of a waypoint changes, which may be that of its Services', async () => {
    const ofWaypoint = (rules: Rule[]) =>
      custom('guard', {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'w' }],
        action: 'ALLOW',
        rules,
      })
    const plan = await named(ofWaypoint([{}]), ofWaypoint([]))
    expect(plan.incomplete).toContain(
      'it is not known how access to the applications of pz changes: the functions may not list Service pz',
    )
    expect(codeOf(plan)).toBe(3)
  })

  test('where what is in a namespace may not be listed, a plan is incomplete where a client changes, which may be let in there by its account', async () => {
    const run = (serviceAccountName: string) =>
      application('job', { labels: ON_MESH, podSpec: { serviceAccountName } })[0] as KubernetesObject
    const plan = await named(run('old'), run('new'))
    expect(plan.incomplete).toContain(
      'it is not known how access to the applications of pz changes: the functions may not list Service pz',
    )
    expect(codeOf(plan)).toBe(3)
  })
})

test('a plan is incomplete where a namespace may not be read, which may put its pods on the mesh', async () => {
  const nothing = custom('nothing', { action: 'DENY', rules: [{}] }, { namespace: 'pz' })
  const objects = [...cluster.slice(0, 1), ...application('pay', { namespace: 'pz', labels: {} })]
  const kubernetes = reader(objects, ({ kind }) => kind === 'Namespace')
  const plan = await planned(objects, { after: [nothing] }, { kubernetes, near: new Set(['pz']) })
  expect(plan.incomplete).toEqual([
    'it is not known how access to the applications of pz changes: the functions may not list Namespace pz',
  ])
  expect(codeOf(plan)).toBe(3)
})

test("a plan is incomplete where Istio's own config may not be read, and access may be lost by what may be the root namespace", async () => {
  const nothing = custom('nothing', { action: 'DENY', rules: [{}] }, { namespace: 'mesh-root' })
  const kubernetes = reader(cluster, ({ kind, namespace: of }) => kind === 'ConfigMap' && of === 'istio-system')
  const plan = await planned(cluster, { after: [nothing] }, { kubernetes })
  expect(plan.incomplete).toEqual([
    "Istio's root namespace is not known for certain: the functions may not get ConfigMap istio-system/istio",
  ])
  expect(lines(plan)).toContain('? shop/web → shop/db :9080 (allowed → undecided)')
  expect(codeOf(plan)).toBe(2)
})
