import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

type Policies = typeof import('../../../src/features/service-mesh/request-policies.ts') &
  typeof import('../../../src/core/relations/databags/policies-databag.ts') &
  typeof import('../../../src/mesh/istio/grant.ts') &
  typeof import('../../../src/features/service-mesh/matchable.ts') &
  typeof import('../../../src/core/policies/models.ts')

/** The sources with one more field in the table of an endpoint, and nothing else that knows of it. */
const withNotPaths = async (): Promise<Policies> => {
  const table = "paths: 'path'"
  const file = resolve('src/core/policies/endpoint.ts')
  const source = readFileSync(file, 'utf8')
  expect(source.split(table)).toHaveLength(2)
  const modules = [
    'features/service-mesh/request-policies',
    'features/service-mesh/matchable',
    'core/relations/databags/policies-databag',
    'mesh/istio/grant',
    'core/policies/models',
  ]
  const { outputFiles } = await build({
    stdin: {
      contents: modules.map((name) => `export * from './${name}.ts'`).join('\n'),
      resolveDir: resolve('src'),
    },
    plugins: [
      {
        name: 'one more field',
        setup: ({ onLoad }) =>
          onLoad({ filter: /policies\/endpoint\.ts$/ }, () => ({
            contents: source.replace(table, `${table}, notPaths: 'path'`),
            loader: 'ts',
          })),
      },
    ],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire('file:///')" },
    ...{ bundle: true, write: false, format: 'esm', platform: 'node', logLevel: 'error' },
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`)
}

const ENDPOINT = { paths: ['/*'], notPaths: ['/admin/*'] }
const SUBJECT = { namespace: 'shop', application: 'db' }

test('a field that is added to the table of an endpoint arrives in the databag, and from there in the policy that is written', async () => {
  const { Policy, requestPolicies, policiesDatabag, readPolicies, authorizationPolicies } = await withNotPaths()
  const { requested } = requestPolicies({
    ...SUBJECT,
    policies: [Policy.parse({ type: 'app', relation: 'use', endpoints: [ENDPOINT] })],
    relations: [{ id: 1, endpoint: 'use', remote: { application: 'web' } }],
  })
  const read = readPolicies({ policies: policiesDatabag(requested.map(({ policy }) => policy)) })
  const written = authorizationPolicies(
    ('policies' in read ? read.policies : []).map((policy) => ({ policy, relation: '1' })),
    { namespace: 'mesh', application: 'beacon', trustDomain: 'cluster.local', labels: {} },
  )
  expect(written.map(({ spec }) => spec.rules?.[0]?.to)).toEqual([[{ operation: ENDPOINT }]])
})

test('a field that is added to the table of an endpoint has its values checked as those of its kind, and is refused at pods', async () => {
  const { unmatchable, MeshPolicy } = await withNotPaths()
  const endpoints = [{ ports: [80], notPaths: ['/a', 'admin'] }]
  const config = { policies: [{ type: 'app' as const, relation: 'use', endpoints }] }
  expect(unmatchable(config)).toEqual([
    { path: ['policies', 0, 'endpoints', 0, 'notPaths', 1], message: expect.stringMatching(/begins with \//) },
  ])
  const parties = { source_namespace: 'shop', source_app_name: 'web', target_namespace: 'shop', target_app_name: 'db' }
  expect(MeshPolicy.safeParse({ ...parties, target_type: 'app', endpoints }).success).toBe(true)
  expect(MeshPolicy.safeParse({ ...parties, target_type: 'unit', endpoints }).error?.issues).toMatchObject([
    { path: ['endpoints', 0, 'notPaths'], message: expect.stringMatching(/pods are guarded by port alone/) },
  ])
})
