import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readProposal } from '../../../src/ask/preview/input.ts'
import { readDocuments } from '../../../src/cli/input.ts'
import { systemClock } from '../../../src/platform/base/clock.ts'

const read = (text: string) => readProposal({ headers: {}, body: Buffer.from(text) }, systemClock)

const POLICY = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: a, namespace: shop }
`

describe('documents of a plan are read, as kubectl reads them,', () => {
  test('documents of a plan are read, as kubectl reads them, behind a byte order mark', async () => {
    const { objects } = await read(`\ufeff${POLICY}`)
    expect(objects.map(({ kind }) => kind)).toEqual(['AuthorizationPolicy'])
  })

  test('documents of a plan are read, as kubectl reads them, behind a byte order mark in each file of a folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'documents-'))
    for (const name of ['a.yaml', 'b.yaml']) await writeFile(join(folder, name), `\ufeff${POLICY}`)
    expect((await read((await readDocuments([folder])).text)).objects).toHaveLength(2)
  })

  test('documents of a plan are read, as kubectl reads them, out of a list of their own kind, whose items need not say it', async () => {
    const { objects } = await read(`apiVersion: security.istio.io/v1
kind: AuthorizationPolicyList
metadata: { resourceVersion: "7" }
items:
  - metadata: { name: a, namespace: shop }
  - { apiVersion: security.istio.io/v1beta1, kind: AuthorizationPolicy, metadata: { name: b, namespace: shop } }
`)
    expect(objects).toEqual([
      { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'a', namespace: 'shop' } },
      {
        ...{ apiVersion: 'security.istio.io/v1beta1', kind: 'AuthorizationPolicy' },
        metadata: { name: 'b', namespace: 'shop' },
      },
    ])
  })

  test('documents of a plan are read, as kubectl reads them, with what merge keys bring in', async () => {
    const { objects } =
      await read(`${POLICY.replace('{ name: a, namespace: shop }', '{ <<: &home { namespace: shop }, name: a }')}
spec:
  rules:
    - from: [{ source: &own { namespaces: [shop] } }]
    - from: [{ source: { <<: *own, principals: ["*"] } }]
`)
    expect(objects).toMatchObject([
      {
        metadata: { name: 'a', namespace: 'shop' },
        spec: {
          rules: [
            { from: [{ source: { namespaces: ['shop'] } }] },
            { from: [{ source: { namespaces: ['shop'], principals: ['*'] } }] },
          ],
        },
      },
    ])
  })

  test('documents of a plan are read, as kubectl reads them, but for a merge key that brings in no mapping', async () => {
    await expect(read(`${POLICY}spec: { <<: [1] }\n`)).rejects.toThrow(/document 1: .*[Mm]erge/)
  })
})
