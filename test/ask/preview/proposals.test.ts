import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readProposal } from '../../../src/ask/preview/input.ts'
import { documentsOf, readDocuments } from '../../../src/cli/input.ts'
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

describe('a document that cannot be read is named with the reason, and the others are read:', () => {
  test.each<[string, string, string]>([
    ['one that is no YAML', '{{- if .Values.x }}\n- b', 'document 1: Block collections'],
    ['one with an alias to nothing', 'a: *b', 'document 1: '],
    ['one with a key twice', 'a: 1\na: 2', 'document 1: Map keys must be unique at line 2'],
    ['one that is no object of Kubernetes', 'swagger: "2.0"', 'document 1: expected a CloudEvent'],
    [
      'one without a name',
      '{ apiVersion: v1, kind: ConfigMap, metadata: {} }',
      'document 1: ConfigMap is not planned: metadata.name: ',
    ],
    [
      'one that the API server names',
      '{ apiVersion: batch/v1, kind: Job, metadata: { generateName: move- } }',
      'document 1: Job move-… is not planned: only the API server knows its name (metadata.generateName)',
    ],
    ['one without metadata', '{ apiVersion: a/v1, kind: Kustomization }', 'document 1: Kustomization is not planned'],
    ['an item of a list', '{ apiVersion: v1, kind: List, items: [7] }', 'document 1: an item of a list is not planned'],
  ])('%s', async (_, bad, problem) => {
    const { objects, unreadable } = await read(`${bad}\n---\n${POLICY}`)
    expect([objects.length, unreadable]).toEqual([1, [expect.stringContaining(problem)]])
  })

  test('one in a list, of which the others are taken, also in a list in it', async () => {
    const item = '{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }'
    const { objects, unreadable } = await read(
      `{ apiVersion: v1, kind: List, items: [{ kind: Job }, ${item}, { apiVersion: v1, kind: List, items: [${item}] }] }`,
    )
    expect([objects.length, unreadable]).toEqual([2, [expect.stringContaining('document 1: Job is not planned')]])
  })

  test('a text in which nothing can be planned is refused with all reasons', async () => {
    await expect(read('a: 1\n---\nb: [\n')).rejects.toThrow(/document 1: expected .*; document 2: .* at line 4/)
  })

  test('files keep their names and lines', async () => {
    const files = [
      { path: 'a.yaml', text: POLICY },
      { path: 'b/c.yaml', text: `\n# a comment\n\n{ kind: Job }\n---\n${POLICY}---\n- [` },
    ]
    const { objects, unreadable } = await read(documentsOf(files).text)
    expect(objects).toHaveLength(2)
    expect(unreadable).toEqual([
      expect.stringMatching(/^b\/c\.yaml:4: Job is not planned/),
      expect.stringMatching(/^b\/c\.yaml:11: .* at line 11, column/),
    ])
  })
})
