import { describe, expect, test } from 'vitest'
import { accessOf, linesOf } from './access.ts'
import { type Build, builds, cannotBuild } from './builds.ts'
import {
  all,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  ServiceAccount,
  Trigger,
  ValidatingAdmissionPolicy,
} from './kinds.ts'

const step = [
  'authorizationpolicies.security.istio.io: create delete get list patch',
  'configmaps: create delete get list patch update',
  'deployments.apps: create delete get list patch',
  'events.events.k8s.io: create patch',
  'gateways.gateway.networking.k8s.io: create delete get list patch',
  'horizontalpodautoscalers.autoscaling: create delete get list patch',
  'poddisruptionbudgets.policy: create delete get list patch',
  'pods: get list patch',
  'secrets: create delete get patch',
  'serviceaccounts: create delete get list patch',
  'services: create delete get list patch',
  'statefulsets.apps: create delete get list patch',
]

const mesh = [
  'everywhere authorizationpolicies.security.istio.io: create delete get list patch',
  'everywhere configmaps: get',
  'everywhere deployments.apps: get list',
  'everywhere gatewayclasses.gateway.networking.k8s.io: list',
  'everywhere gateways.gateway.networking.k8s.io: list',
  'everywhere mutatingwebhookconfigurations.admissionregistration.k8s.io: get',
  'everywhere namespaces: get list',
  'everywhere peerauthentications.security.istio.io: list',
  'everywhere pods: list',
  'everywhere serviceentries.networking.istio.io: list',
  'everywhere services: get list',
  'everywhere statefulsets.apps: get list',
  'namespaces: get patch',
]

const reviews = [
  'everywhere subjectaccessreviews.authorization.k8s.io: create',
  'everywhere tokenreviews.authentication.k8s.io: create',
  'everywhere validatingadmissionpolicies.admissionregistration.k8s.io: get',
  'everywhere validatingadmissionpolicybindings.admissionregistration.k8s.io: get',
]

/** Of the page: it lists and gets, and asks who looks. */
const page = [
  'configmaps: get list',
  'deployments.apps: get list',
  'everywhere authorizationpolicies.security.istio.io: get list',
  'everywhere configmaps: get',
  'everywhere deployments.apps: get list',
  'everywhere gatewayclasses.gateway.networking.k8s.io: get list',
  'everywhere gateways.gateway.networking.k8s.io: get list',
  'everywhere mutatingwebhookconfigurations.admissionregistration.k8s.io: get',
  'everywhere namespaces: get list',
  'everywhere peerauthentications.security.istio.io: get list',
  'everywhere pods: get list',
  'everywhere serviceentries.networking.istio.io: list',
  'everywhere services: get list',
  'everywhere statefulsets.apps: get list',
  'everywhere subjectaccessreviews.authorization.k8s.io: create',
  'everywhere tokenreviews.authentication.k8s.io: create',
  'horizontalpodautoscalers.autoscaling: get list',
  'poddisruptionbudgets.policy: get list',
  'pods: get list',
  'serviceaccounts: get list',
  'services: get list',
  'statefulsets.apps: get list',
]

/** Of the CronJob that follows a model: documents, and events for all applications without effects beyond them. */
const juju = ['applications.meshstep.dev: update', 'configmaps: create delete get list patch']

/** Events for all applications, and each effect beyond them. */
const SENDING = ['', '/mesh', '/policies', '/root', '/workload'].map(
  (effect) => `applications${effect}.meshstep.dev: update`,
)

const namespaceOf = ({ objects }: Build): string => objects.flatMap(({ metadata }) => metadata.namespace ?? [])[0] ?? ''

const granted = (build: Build, account: string): string[] =>
  linesOf(accessOf(build.objects, namespaceOf(build), account))

const expectedOfFunctions = (components: readonly string[]): Record<string, string[]> => {
  const rights = [
    ...step,
    ...(components.includes('mesh') ? mesh : ['namespaces: get']),
    ...(components.includes('authentication') ? reviews : []),
  ]
  return { meshstep: rights.toSorted() }
}

const expected = (components: readonly string[]): Record<string, string[]> => ({
  ...expectedOfFunctions(components),
  'meshstep-dead-letter': ['events.events.k8s.io: create patch'],
  'meshstep-pods': ['pods: get list watch'],
  'meshstep-waypoints': ['deployments.apps: get list watch'],
  'meshstep-configmaps': ['configmaps: get list watch'],
  ...(components.includes('page') && { 'meshstep-page': page }),
  ...(components.includes('juju') && { 'meshstep-juju': juju }),
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

    test('of admission policies, the one about the documents of this namespace alone may be read', () => {
      const rules = all(objects, ClusterRole).flatMap((role) => role.rules)
      const named = rules.filter(({ resources }) => resources.some((one) => one.startsWith('validatingadmission')))
      const policies = all(objects, ValidatingAdmissionPolicy).map(({ metadata }) => metadata.name)
      expect(named.map(({ resourceNames }) => resourceNames)).toEqual(policies.map((name) => [name]))
    })

    test("of other namespaces' ConfigMaps, Istio's own config alone may be read", () => {
      const rules = all(objects, ClusterRole).flatMap((role) => role.rules)
      const named = rules.filter(({ resources, verbs }) => resources.includes('configmaps') && verbs.includes('get'))
      expect(named.every(({ resourceNames }) => resourceNames?.join() === 'istio')).toBe(true)
    })

    test('every role is bound, to accounts of this namespace, but for the one that other models are given', () => {
      const bindings = [...all(objects, RoleBinding), ...all(objects, ClusterRoleBinding)]
      const roles = [...all(objects, Role), ...all(objects, ClusterRole)].map(({ metadata }) => metadata.name)
      const bound = [...bindings.map(({ roleRef }) => roleRef.name), 'meshstep-reader']
      expect(bound.toSorted()).toEqual(roles.toSorted())
      expect(new Set(bindings.flatMap(({ subjects }) => subjects.map((subject) => subject.namespace)))).toEqual(
        new Set([namespaceOf(build)]),
      )
    })

    test('other models are given no more than to read what applications say', () => {
      const reader = all(objects, Role).find(({ metadata }) => metadata.name === 'meshstep-reader')
      expect(reader?.rules).toEqual([{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }])
    })

    test("the functions' account is bound, and no account that does not exist", () => {
      const bindings = [...all(objects, RoleBinding), ...all(objects, ClusterRoleBinding)]
      const ofFunctions = bindings.filter(({ roleRef }) => /^meshstep-(step|mesh-.+|reviews-.+)$/.test(roleRef.name))
      const clusterWide = components.filter((component) => ['mesh', 'authentication'].includes(component))
      expect(ofFunctions).toHaveLength(1 + clusterWide.length)
      for (const { subjects } of ofFunctions) expect(subjects.map(({ name }) => name)).toEqual(['meshstep'])
    })

    test('the accounts of all triggers, and no other, may send', () => {
      const senders = all(objects, Trigger).map(({ metadata }) => {
        expect(metadata.name.length, 'a longer name would be hashed').toBeLessThanOrEqual(63 - 34)
        return `${metadata.name}-oidc-eventing.knative.dev-trigger`
      })
      const binding = all(objects, RoleBinding).find(({ roleRef }) => roleRef.name === 'meshstep-sender')
      expect(binding?.subjects.map(({ name }) => name).toSorted()).toEqual(senders.toSorted())
      for (const sender of senders) expect(granted(build, sender)).toEqual(SENDING)
    })
  })
})
