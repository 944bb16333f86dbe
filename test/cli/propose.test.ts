import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { Proposed } from '../../src/ask/propose/proposal.ts'
import { listedLines, proposedYaml } from '../../src/cli/propose.ts'

const document = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'relation-1', namespace: 'shop', labels: { 'meshstep.dev/kind': 'relation' } },
  data: { application: 'db', relation: '{ id: 1 }', remote: '{ application: web }' },
}

const proposed = (of: Partial<Proposed> = {}): Proposed => ({
  ...{
    namespace: 'shop',
    window: '24h',
    documents: [{ comments: ['web → db: seen.'], document }],
    listed: [],
    notes: [],
  },
  ...of,
})

test('each document stands below its evidence', () => {
  expect(proposedYaml(proposed())).toBe(`# Proposed for shop by the traffic of the last 24h.
---
# web → db: seen.
apiVersion: v1
kind: ConfigMap
metadata:
  name: relation-1
  namespace: shop
  labels:
    meshstep.dev/kind: relation
data:
  application: db
  relation: "{ id: 1 }"
  remote: "{ application: web }"
`)
})

test('what a person has to look at stands at the end, by its kind', () => {
  const listed: Proposed['listed'] = [
    { kind: 'left', to: 'shop/db', sentence: 'shop/db: why' },
    { kind: 'suspicious', from: 'unknown', to: 'shop/web', sentence: 'unknown → shop/web: who' },
  ]
  const lines = [
    'Not let in. Look at each, and relate it if it is meant:',
    '  unknown → shop/web: who',
    'Left as they are, so open if they are open now:',
    '  shop/db: why',
  ]
  expect(listedLines(proposed({ listed }))).toEqual(lines)
  expect(proposedYaml(proposed({ listed })).endsWith(lines.map((line) => `# ${line}\n`).join(''))).toBe(true)
})

test('that nothing is needed is said in words', () => {
  expect(proposedYaml(proposed({ documents: [] }))).toBe(
    '# Proposed for shop by the traffic of the last 24h. Nothing is needed.\n',
  )
})

test('that nothing is proposed for applications that are left open is said first, and why at the end', () => {
  const listed: Proposed['listed'] = [{ kind: 'left', to: 'shop/db', sentence: 'shop/db: it has a sidecar' }]
  expect(proposedYaml(proposed({ documents: [], listed }))).toBe(
    `# Proposed for shop by the traffic of the last 24h. Nothing is proposed for shop/db: the reasons are below.
# Left as they are, so open if they are open now:
#   shop/db: it has a sidecar
`,
  )
})

test('that traffic is not known is not said to be no need', () => {
  expect(proposedYaml(proposed({ documents: [], notes: ['Prometheus knows no proxy.'] }))).toBe(
    '# Proposed for shop by the traffic of the last 24h. Nothing is proposed.\n# Prometheus knows no proxy.\n',
  )
})

test('a name of a metric that has more than one line adds no document', () => {
  const sentence = 'a\n---\nkind: Evil\r---\u2028---\u0085kind: Evil'
  const text = proposedYaml(
    proposed({ documents: [{ comments: [sentence], document }], listed: [{ kind: 'left', to: 'a', sentence }] }),
  )
  expect(parseAllDocuments(text).map((one) => (one as { toJS(): unknown }).toJS())).toEqual([document])
  expect(text.split('\n').filter((line) => line.includes('Evil') && !line.startsWith('#'))).toEqual([])
})
