import { isDeepStrictEqual } from 'node:util'
import { NAMESPACE } from './fixture.ts'
import { labelsOn, principalsIn } from './monitor.ts'
import type { KubernetesObject } from './process.ts'
import type { World } from './world.ts'

/** What a history leaves in the cluster: labels by workload, Service and namespace, specs by policy, and what else a beacon or a coordinator makes. */
export type Snapshot = {
  labels: Record<string, Record<string, string>>
  policies: Record<string, unknown>
  others: Record<string, unknown>
}

/**
 * A target that was guarded once may keep its policy without rules, rather than be open: that object is the same here as none, as it
 * depends on what was granted before. What denies in the whole mesh is in another namespace.
 */
const isGuardOnly = (policy: KubernetesObject): boolean =>
  policy.metadata.namespace === NAMESPACE &&
  (policy.spec?.action ?? 'ALLOW') === 'ALLOW' &&
  principalsIn(policy).length === 0

export const takeSnapshot = ({ api }: World): Snapshot => {
  const objects = api.objects()
  const labelled = objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Service' || kind === 'Namespace')
  const policies = objects.filter((one) => one.kind === 'AuthorizationPolicy' && !isGuardOnly(one))
  const others = objects.filter(
    ({ kind, metadata: { name } }) =>
      kind === 'Gateway' || kind === 'HorizontalPodAutoscaler' || (kind === 'ConfigMap' && name.endsWith('-nginx')),
  )
  return {
    labels: Object.fromEntries(labelled.map((one) => [`${one.kind} ${one.metadata.name}`, labelsOn(one)])),
    policies: Object.fromEntries(policies.map(({ metadata, spec }) => [metadata.name, spec])),
    others: Object.fromEntries(
      others.map(({ kind, metadata, spec, data }) => [`${kind} ${metadata.name}`, spec ?? data]),
    ),
  }
}

/** What differs, in words. */
export const compareSnapshots = (expected: Snapshot, found: Snapshot): string[] =>
  (['labels', 'policies', 'others'] as const).flatMap((part) => {
    const names = [...new Set([...Object.keys(expected[part]), ...Object.keys(found[part])])]
    return names
      .filter((name) => !isDeepStrictEqual(expected[part][name], found[part][name]))
      .map((name) => `${name}: expected ${show(expected[part][name])}, found ${show(found[part][name])}`)
  })

const show = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value))

/** Whether an application is on the mesh, by its own labels or by those of the namespace. */
export const isEnrolled = ({ labels }: Snapshot, application: string): boolean =>
  [`StatefulSet ${application}`, `Namespace ${NAMESPACE}`].some((name) =>
    Object.hasOwn(labels[name] ?? {}, 'istio.io/dataplane-mode'),
  )

/** The identities that the policies of `application` let in. */
export const findAdmitted = ({ policies }: Snapshot, application: string): string[] => {
  const guarding = Object.values(policies).filter((spec) => {
    const { selector, targetRefs } = spec as Record<string, unknown>
    return JSON.stringify([selector, targetRefs]).includes(`"${application}"`)
  })
  return [...new Set(guarding.flatMap((spec) => JSON.stringify(spec).match(/(?<=\/sa\/)[-a-z0-9]+/g) ?? []))].toSorted()
}
