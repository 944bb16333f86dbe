import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { composed, documentsOf, readDocuments, readFiles, valueIn } from '../../src/cli/input.ts'
import { locate } from '../../src/cli/problem-places.ts'

const files = (...texts: string[]) => documentsOf(texts.map((text, index) => ({ path: `${index}.yaml`, text })))

const CONFIG = `policies:
  - type: app
    endpoints:
      - port: [9080]
      - methods:
          - get
"a.b/c": { d: 1 }
`

const DOCUMENT = `apiVersion: v1
kind: ConfigMap
metadata: { name: details, namespace: shop }
data:
  application: details
  config: |
    policies:
      - port: [9080]

      - { type: app }
  relation: '{ id: x }'
`

describe('a problem that the functions name by its path', () => {
  test.each([
    [
      'data.config.policies.0.endpoints.0: Unrecognized key: "port", did you mean ports?',
      '0.yaml:4:9: policies.0.endpoints.0: Unrecognized key: "port", did you mean ports?',
    ],
    ['data.config.policies.0.endpoints.1.methods.0: no', '0.yaml:6:13: policies.0.endpoints.1.methods.0: no'],
    ['data.config.a.b/c.d: no', '0.yaml:7:15: a.b/c.d: no'],
    ['data.config.policies.0.relation: is missing', '0.yaml:2:5: policies.0.relation: is missing'],
    ['data.config: no; to allow all: []', '0.yaml:1:1: no; to allow all: []'],
    [
      'data.config.policies: a; data.config.policies.0.type: b',
      '0.yaml:2:3: policies: a\n0.yaml:2:11: policies.0.type: b',
    ],
    ['shop/details is gone', 'shop/details is gone'],
  ])('%j is found in the file of a config', (message, told) => {
    expect(locate(message, files(CONFIG), 'data.config')).toBe(told)
  })

  test.each([
    ['ConfigMap shop/details: data.relation.id: no', '0.yaml:11:13: data.relation.id: no'],
    [
      'ConfigMap shop/details: data.config.policies.0: Unrecognized key: "port"',
      '0.yaml:8:9: data.config.policies.0: Unrecognized key: "port"',
    ],
    ['ConfigMap shop/details: data.config.policies.1.type: no', '0.yaml:10:17: data.config.policies.1.type: no'],
    ['ConfigMap shop/other: data.config: no', 'ConfigMap shop/other: data.config: no'],
    ['Service shop/details: no', 'Service shop/details: no'],
  ])('%j is found in the files of a plan', (message, told) => {
    const expectations = '# first\nexpect: [{ port: x, frm: a }]'
    expect(locate(message, files(DOCUMENT, expectations))).toBe(told)
  })

  test('YAML in a document that is none is told with its place in the file', () => {
    const broken = DOCUMENT.replace('      - { type: app }', '\t- { type: app }')
    const message = 'ConfigMap shop/details: data.config: neither JSON nor YAML: Tabs at line 4, column 1'
    expect(locate(message, files(broken.replace('\t-', '    \t-')))).toBe(
      '0.yaml:10:5: data.config: neither JSON nor YAML: Tabs',
    )
  })

  test('an object in a list is found', () => {
    const list = 'kind: List\nitems:\n  - kind: Service\n    metadata: { name: a }'
    expect(locate('Service shop/a: no', files(list))).toBe('0.yaml:3:5: no')
  })
})

describe('files', () => {
  test.each([
    ['a: [\nb: 1\n', /^1\.yaml:2:1: .* end with a \]$/],
    ['a: 1\na: 2\n', /^1\.yaml:2:1: Map keys must be unique$/],
    ['a: b: 1', /^1\.yaml:1:\d+: [^:]+$/],
    ['a:\n\tb: 1\n', /^1\.yaml:2:1: Tabs are not allowed as indentation$/],
    ['a: *b', /^1\.yaml:1:\d+: /],
  ])('%j, which is no YAML, is told with its line, and what is wrong', (text, said) => {
    expect(() => valueIn('1.yaml', files('a: 1', text))).toThrow(said)
  })

  test('a folder is read as kubectl reads it, and one without documents is refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'files-'))
    await expect(readFiles([folder])).rejects.toThrow(
      `${folder}: expected files *.yaml, *.yml or *.json in this folder, got none`,
    )
    await mkdir(join(folder, 'deeper.yaml'))
    for (const name of ['b.yml', 'a.yaml', 'c.json', 'd.txt'])
      await writeFile(join(folder, name), `{ "name": "${name}" }`)
    await writeFile(join(folder, 'deeper.yaml', 'e.yaml'), '{}')
    const documents = await readDocuments([folder])
    expect(composed(documents).map((one) => one.toJS())).toEqual([
      { name: 'a.yaml' },
      { name: 'b.yml' },
      { name: 'c.json' },
    ])
    expect(() => valueIn(folder, documents)).toThrow(`${folder}: expected one document, got 3`)
  })

  test('files without text are refused, and so is a config of nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'files-'))
    const [blank, comment] = [join(folder, 'blank.yaml'), join(folder, 'comment.yaml')]
    await writeFile(blank, '\n')
    await writeFile(comment, '# nothing')
    await expect(readFiles([blank])).rejects.toThrow(`${blank}: expected YAML or JSON, got nothing`)
    expect(() => valueIn(comment, files('# nothing'))).toThrow(
      /expected YAML or JSON, got nothing; an empty config is \{\}/,
    )
  })
})
