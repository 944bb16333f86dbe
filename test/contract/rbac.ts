import type { ResourceAttributes } from '../../src/embedded/api/api.ts'
import { KubeObject } from '../knative/kinds.ts'

export type Rule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** Who has a right: a User, or a ServiceAccount in a namespace. */
type Subject = { readonly kind: string; readonly name: string; readonly namespace?: string }

/** To update applications, all or some, or subresources of them. */
export const update = (resources: readonly string[], resourceNames?: readonly string[]): Rule => ({
  apiGroups: ['meshstep.dev'],
  resources,
  verbs: ['update'],
  ...(resourceNames && { resourceNames }),
})

export const configMaps: Rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }

const made = (kind: string, namespace: string, name: string, fields: Record<string, unknown>): KubeObject =>
  KubeObject.parse({ apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: { name, namespace }, ...fields })

/** A Role, and the RoleBinding that gives it to a subject. */
export const bound = (namespace: string, name: string, rules: readonly Rule[], subject: Subject): KubeObject[] => [
  made('Role', namespace, name, { rules }),
  made('RoleBinding', namespace, name, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [subject],
  }),
]

const isOne = <T>(values: readonly T[], value: T, any: T): boolean => values.includes(value) || values.includes(any)

const isGranted = ({ apiGroups, resources, verbs, resourceNames }: Rule, asked: ResourceAttributes): boolean => {
  const { group = '', resource = '', subresource, verb = '', name } = asked
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const isNamed = resourceNames === undefined || (name !== undefined && resourceNames.includes(name))
  return isOne(apiGroups, group, '*') && isOne(resources, what, '*') && isOne(verbs, verb, '*') && isNamed
}

const userOf = ({ kind, name, namespace }: Subject): string =>
  kind === 'ServiceAccount' ? `system:serviceaccount:${namespace}:${name}` : name

/** Decides as RBAC does, by the Roles and RoleBindings that are added: the embedded API has none. */
export const createRbac = () => {
  const objects: KubeObject[] = []
  return {
    add: (object: KubeObject): void => void objects.push(object),
    allows: (username: string, asked: ResourceAttributes): boolean =>
      objects.some(({ kind, metadata: { namespace }, roleRef, subjects }) => {
        if (kind !== 'RoleBinding' || namespace !== asked.namespace) return false
        if (!(subjects as Subject[]).some((subject) => userOf(subject) === username)) return false
        const { name } = roleRef as { name: string }
        const role = objects.find(
          (one) => one.kind === 'Role' && one.metadata.name === name && one.metadata.namespace === namespace,
        )
        return ((role?.rules ?? []) as Rule[]).some((rule) => isGranted(rule, asked))
      }),
  }
}
