import { describe, expect, test } from 'vitest'
import { functions } from '../../functions/index.ts'
import { type Build, builds, cannotBuild } from './builds.ts'
import { all, ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount, Trigger } from './kinds.ts'

const step = [
  'configmaps: create delete get update',
  'deployments.apps: get patch',
  'pods: get list patch',
  'services: get patch',
  'statefulsets.apps: get patch',
]

const resync = [
  'configmaps: create delete get list update',
  'deployments.apps: get list patch',
  'pods: get list patch',
  'services: get list patch',
  'statefulsets.apps: get list patch',
]

const reviews = ['subjectaccessreviews.authorization.k8s.io: create', 'tokenreviews.authentication.k8s.io: create']

const granted = ({ objects }: Build, account: string): string[] => {
  const roles = [...all(objects, Role), ...all(objects, ClusterRole)]
  const verbs = new Map<string, Set<string>>()
  for (const { roleRef, subjects } of [...all(objects, RoleBinding), ...all(objects, ClusterRoleBinding)]) {
    if (!subjects.some(({ name }) => name === account)) continue
    const role = roles.find(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name)
    if (!role) throw new Error(`expected ${roleRef.kind} ${roleRef.name}, got none`)
    for (const rule of role.rules) {
      for (const resource of rule.resources.flatMap((name) => rule.apiGroups.map((group) => [name, group]))) {
        const key = resource.filter((part) => part !== '').join('.')
        verbs.set(key, (verbs.get(key) ?? new Set()).union(new Set(rule.verbs)))
      }
    }
  }
  return [...verbs].map(([resource, names]) => `${resource}: ${[...names].toSorted().join(' ')}`).toSorted()
}

const expectedOfFunctions = (components: readonly string[]): Record<string, string[]> => {
  const extra = components.includes('authentication') ? reviews : []
  if (components.includes('single')) return { meshstep: [...resync, ...extra].toSorted() }
  return Object.fromEntries(
    functions.map(({ name }) => [`meshstep-${name}`, [...(name === 'resync' ? resync : step), ...extra].toSorted()]),
  )
}

const expected = (components: readonly string[]): Record<string, string[]> => ({
  ...expectedOfFunctions(components),
  'meshstep-dead-letter': [],
  'meshstep-pods': ['pods: get list watch'],
  'meshstep-configmaps': ['configmaps: get list watch'],
  ...(components.includes('leases') && { 'meshstep-leases': ['leases.coordination.k8s.io: get list watch'] }),
})

describe.skipIf(cannotBuild)('permissions', () => {
  describe.each(builds)('$name', (build) => {
    const { objects, components } = build
    const accounts = all(objects, ServiceAccount).map(({ metadata }) => metadata.name)

    test('each account may do what it needs and nothing beyond', () => {
      expect(Object.fromEntries(accounts.map((account) => [account, granted(build, account)]))).toEqual(
        expected(components),
      )
    })

    test('no rule has a wildcard', () => {
      const rules = [...all(objects, Role), ...all(objects, ClusterRole)].flatMap((role) => role.rules)
      expect(rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs])).not.toContain(
        '*',
      )
    })

    test('every role is bound, to accounts of this namespace', () => {
      const bindings = [...all(objects, RoleBinding), ...all(objects, ClusterRoleBinding)]
      const roles = [...all(objects, Role), ...all(objects, ClusterRole)].map(({ metadata }) => metadata.name)
      expect(bindings.map(({ roleRef }) => roleRef.name).toSorted()).toEqual(roles.toSorted())
      const [namespace] = objects.flatMap(({ metadata }) => metadata.namespace ?? [])
      expect(new Set(bindings.flatMap(({ subjects }) => subjects.map((subject) => subject.namespace)))).toEqual(
        new Set([namespace]),
      )
    })

    test('with authentication, the accounts of all triggers, and no other, may send', () => {
      if (!components.includes('authentication')) return
      const senders = all(objects, Trigger).map(({ metadata }) => {
        expect(metadata.name.length, 'a longer name would be hashed').toBeLessThanOrEqual(63 - 34)
        return `${metadata.name}-oidc-eventing.knative.dev-trigger`
      })
      const binding = all(objects, RoleBinding).find(({ roleRef }) => roleRef.name === 'meshstep-sender')
      expect(binding?.subjects.map(({ name }) => name).toSorted()).toEqual(senders.toSorted())
      for (const sender of senders) expect(granted(build, sender)).toEqual(['applications.meshstep.dev: update'])
    })
  })

  test('the overlay with authentication names its cluster-scoped binding after its namespace', () => {
    const objects = builds.find(({ name }) => name === 'overlays/kafka-authentication')?.objects ?? []
    expect(all(objects, ClusterRoleBinding).map(({ metadata }) => metadata.name)).toEqual(['meshstep-reviews-meshstep'])
  })
})
