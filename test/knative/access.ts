import type { TransportRequest } from '../../src/platform/kubernetes/client.ts'
import { all, ClusterRole, ClusterRoleBinding, type KubeObject, Role, RoleBinding } from './kinds.ts'

/** What a call asks for, or a binding grants: a verb on a resource, `statefulsets.apps`; without a namespace, in all of them. */
export type Access = { verb: string; resource: string; namespace?: string | undefined }

/** What an account of `namespace` may do, by all that binds it. */
export const accessOf = (objects: readonly KubeObject[], namespace: string, account: string): Access[] => {
  const roles = [...all(objects, Role), ...all(objects, ClusterRole)]
  return [...all(objects, RoleBinding), ...all(objects, ClusterRoleBinding)]
    .filter(({ subjects }) => subjects.some((one) => one.name === account && one.namespace === namespace))
    .flatMap(({ metadata, roleRef }) => {
      const role = roles.find(
        (one) =>
          one.kind === roleRef.kind &&
          one.metadata.name === roleRef.name &&
          (one.kind === 'ClusterRole' || one.metadata.namespace === metadata.namespace),
      )
      if (!role) throw new Error(`expected ${roleRef.kind} ${roleRef.name}, got none`)
      return role.rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((name) =>
            verbs.map((verb) => ({ verb, resource: qualified(name, group), namespace: metadata.namespace })),
          ),
        ),
      )
    })
}

const qualified = (name: string, group: string): string => (group === '' ? name : `${name}.${group}`)

/** `pods: get list patch`, a line for each resource; what is not of one namespace begins with `everywhere`. */
export const linesOf = (granted: readonly Access[]): string[] => {
  const verbs = new Map<string, Set<string>>()
  for (const { verb, resource, namespace } of granted) {
    const line = namespace === undefined ? `everywhere ${resource}` : resource
    verbs.set(line, (verbs.get(line) ?? new Set()).add(verb))
  }
  return [...verbs].map(([line, names]) => `${line}: ${[...names].toSorted().join(' ')}`).toSorted()
}

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const

const PATH =
  /^\/apis?\/(?:(?<group>[^/]+)\/)?v\w+(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?$/

/**
 * What the API server asks RBAC about a call. A Namespace counts as in itself, and an apply that may make its object asks for `create`
 * too: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
export const accessAskedBy = ({ method, path, headers, body }: TransportRequest): Access[] => {
  const { group = '', plural = '', name, namespace } = PATH.exec(path.split('?')[0] ?? '')?.groups ?? {}
  const verb = method === 'GET' ? (name === undefined ? 'list' : 'get') : VERBS[method]
  const about = { resource: qualified(plural, group), namespace: plural === 'namespaces' ? name : namespace }
  const mayMake =
    headers['content-type']?.includes('apply-patch') && JSON.parse(body ?? '{}').metadata.uid === undefined
  return [{ verb, ...about }, ...(mayMake ? [{ verb: 'create', ...about }] : [])]
}

export const isGranted = (granted: readonly Access[], { verb, resource, namespace }: Access): boolean =>
  granted.some(
    (one) =>
      one.verb === verb && one.resource === resource && (one.namespace === undefined || one.namespace === namespace),
  )
