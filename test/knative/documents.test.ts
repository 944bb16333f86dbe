import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { evaluate } from '@marcbachmann/cel-js'
import { describe, expect, test } from 'vitest'
import { MOST_GROUPS } from '../../src/platform/cloudevents/knative/document.ts'
import { builds, cannotBuild } from './builds.ts'
import {
  ApiServerSource,
  all,
  Broker,
  EventPolicy,
  type KubeObject,
  PingSource,
  SinkBinding,
  Trigger,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from './kinds.ts'

const authenticated = builds.filter(({ components }) => components.includes('authentication'))
const others = builds.filter(({ components }) => !components.includes('authentication'))

/** The account that Knative creates for a source or a Trigger (knative.dev/pkg/kmeta.ChildName shortens a long name). */
const createdFor = ({ apiVersion, kind, metadata: { name } }: KubeObject): string => {
  const suffix = `-oidc-${apiVersion.replace(/\/.*/, '')}-${kind}`
  if (name.length + suffix.length <= 63) return `${name}${suffix}`.toLowerCase()
  const hashed = `${name.slice(0, 31)}${createHash('md5').update(`${name}${suffix}`).digest('hex')}`
  return `${hashed}${suffix.slice(0, 63 - hashed.length)}`.replace(/[^a-zA-Z0-9]+$/, '').toLowerCase()
}

const sendersOf = (objects: readonly KubeObject[]): string[] =>
  [ApiServerSource, PingSource, SinkBinding, Trigger]
    .flatMap((kind): KubeObject[] => all([...objects], kind))
    .map(createdFor)

/** Those of all components, together or not. */
const everySender = new Set(builds.flatMap(({ objects }) => sendersOf(objects)))

const accountOf = (namespace: string | undefined, name: string): string => `system:serviceaccount:${namespace}:${name}`

/** The names of the variables that an expression uses. */
const usedIn = (expression: string): string[] =>
  [...expression.matchAll(/variables\.(\w+)/g)].map(([, name]) => `${name}`)

describe.skipIf(cannotBuild)(`who may write and send ${cannotBuild ?? ''}`, () => {
  test.each(others)('$name guards nothing, as it needs no feature of the cluster', ({ objects }) => {
    expect([...all(objects, ValidatingAdmissionPolicy), ...all(objects, EventPolicy)]).toEqual([])
  })

  describe.each(authenticated)('$name', ({ objects }) => {
    const namespace = all(objects, Broker)[0]?.metadata.namespace
    const [policy] = all(objects, ValidatingAdmissionPolicy)
    const [binding] = all(objects, ValidatingAdmissionPolicyBinding)

    test('every write of a ConfigMap is asked about, and refused where that fails', () => {
      expect(policy?.spec.failurePolicy).toBe('Fail')
      expect(policy?.spec.matchConstraints.resourceRules).toEqual([
        { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'UPDATE', 'DELETE'] },
      ])
      expect(binding?.spec.validationActions).toEqual(['Deny'])
    })

    test('it is asked in this namespace alone', () => {
      expect(binding?.spec.policyName).toBe(policy?.metadata.name)
      const { matchLabels } = binding?.spec.matchResources.namespaceSelector ?? {}
      expect(matchLabels).toEqual({ 'kubernetes.io/metadata.name': namespace })
    })

    test('every variable is defined before it is used, and used', () => {
      const { variables = [], validations = [] } = policy?.spec ?? {}
      const names = variables.map(({ name }) => name)
      for (const [index, { expression }] of variables.entries())
        expect(names.slice(0, index)).toEqual(expect.arrayContaining(usedIn(expression)))
      const used = [...variables, ...validations].flatMap(({ expression }) => usedIn(expression))
      expect(new Set(used)).toEqual(new Set(names))
    })

    test('each validation asks for the author, the groups, or one permission, and names it', () => {
      const asked = policy?.spec.validations.map(({ expression, messageExpression }) => {
        const named = /(?:subresource|annotations)(?:\('|\[\?')([\w./-]+)'/.exec(expression)?.[1]
        if (named) expect(messageExpression).toContain(named)
        if (!named?.includes('author')) expect(expression).toContain(".name(name).check('update').allowed()")
        return named
      })
      const authors = ['meshstep.dev/author', 'meshstep.dev/author-groups']
      expect(asked).toEqual([...authors, undefined, undefined, undefined, 'workload', 'policies', 'root', 'mesh'])
    })

    test('an author names no more groups than the functions ask RBAC with, and each once', () => {
      const asked = policy?.spec.validations.find(({ expression }) => expression.includes('meshstep.dev/author-groups'))
      expect(asked?.expression).toContain(`groups.size() <= ${MOST_GROUPS} && groups.all(`)
      expect(asked?.expression).toContain('groups.exists_one(other, other == group)')
      expect(asked?.messageExpression).toContain(`at most ${MOST_GROUPS} groups`)
      const authors = readFileSync('knative/components/authentication/authors.yaml', 'utf8')
      expect(authors).toContain(`request.userInfo.groups.indexOf(group) < ${MOST_GROUPS})`)
    })

    test('a refusal names an application once, also where both versions of an object have it', () => {
      const { variables = [] } = policy?.spec ?? {}
      const told = variables.filter(({ name }) => name === 'named' || name === 'remembered')
      const once = told.map(({ expression }) => /^\[variables.*\](\.map\(names, .*)$/s.exec(expression)?.[1])
      expect(once).toHaveLength(2)
      for (const text of once)
        for (const [all, expected] of [
          ['["*", "*"]', ['*']],
          ['["a", "b"]', ['a', 'b']],
          ['["a"]', ['a']],
          ['[]', []],
        ])
          expect(evaluate(`[${all}]${text}`, {})).toEqual(expected)
    })

    test('no text of a document is looked into: of its data the name of the application alone is read', () => {
      const { variables = [], validations = [] } = policy?.spec ?? {}
      const expressions = [...variables, ...validations].map(({ expression }) => expression).join('\n')
      const keys = [...expressions.matchAll(/\.\?data\[\?'(\w+)'\]/g)].map(([, key]) => key)
      expect(new Set(keys)).toEqual(new Set(['application', 'state']))
    })

    test('the name of the application is plain or quoted whole: any other value asks about all applications', () => {
      const named = policy?.spec.variables?.find(({ name }) => name === 'named')?.expression ?? ''
      const pattern = new RegExp(/\.find\(r'(.*?)'\)/.exec(named)?.[1] ?? '')
      for (const name of ['a', 'a-b1', '"a"', "'a'"]) expect(name).toMatch(pattern)
      for (const name of ['a"', '"a', "a'", '"a\'', '-a', 'a b', '']) expect(name).not.toMatch(pattern)
    })

    test('who writes a memory needs every permission, for all applications', () => {
      const { variables = [], validations = [] } = policy?.spec ?? {}
      const remembered = variables.find(({ name }) => name === 'remembered')?.expression
      expect(remembered).toContain(".map(memory, object != null ? '' :")
      const asking = validations.filter(({ expression }) => /variables\.(remembered|forged)\b/.test(expression))
      const subresources = asking.map(({ expression }) => /subresource\('(\w+)'\)/.exec(expression)?.[1])
      expect(subresources).toEqual([undefined, 'workload', 'policies', 'root', 'mesh'])
    })

    test('the broker takes events of the sources, the functions and the triggers, and of nobody else', () => {
      const [eventPolicy, ...more] = all(objects, EventPolicy)
      expect(more).toEqual([])
      expect(eventPolicy?.spec.to[0].ref).toEqual({
        apiVersion: 'eventing.knative.dev/v1',
        kind: 'Broker',
        name: 'meshstep',
      })
      const from = eventPolicy?.spec.from.map(({ sub }) => sub) ?? []
      expect(from).toEqual(expect.arrayContaining(sendersOf(objects).map((name) => accountOf(namespace, name))))
      expect(from.filter((sub) => !everySender.has(sub.replace(accountOf(namespace, ''), '')))).toEqual([])
      expect(new Set(from).size).toBe(from.length)
    })
  })
})
