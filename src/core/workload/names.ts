import type { Subject } from '../../platform/base/subject.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { accountNamed, accountOf, isAccountOurs, type PodWorkload } from './config.ts'
import { storeName } from './secrets.ts'

/** The names of memories, secret stores, accounts and Roles of meshstep. No other objects may have them. */
const RESERVED = /^(meshstep|juju-service-mesh)(-|$)/

/** Tells if a name is reserved for meshstep's own objects. */
const isReserved = (name: string): boolean => RESERVED.test(name)

/** Tells if a name belongs to the application: its own name, or a name that begins with that and a hyphen. */
export const isOwnName = (application: string, name: string): boolean =>
  !isReserved(name) && (name === application || name.startsWith(`${application}-`))

/** Returns the problem of the first name that an application may not use, for objects of its workload, its account or its references. */
export const nameProblem = (application: string, workload: PodWorkload): string | undefined => {
  const { podSpec, serviceAccount, configMaps = {}, secrets = {} } = workload
  const made = [
    ...(serviceAccount?.name === undefined ? [] : [{ path: 'serviceAccount.name', name: serviceAccount.name }]),
    ...Object.keys(configMaps).map((name) => ({ path: `configMaps.${name}`, name })),
    ...Object.keys(secrets).map((name) => ({ path: `secrets.${name}`, name })),
  ]
  const account = accountNamed(podSpec)
  const used = [
    { path: 'podSpec', name: application },
    ...(account === undefined ? [] : [{ path: 'podSpec.serviceAccountName', name: account }]),
    ...referencesIn(podSpec)
      .filter(({ kind, name }) => !(kind === 'Secret' && name === storeName(application)))
      .map(({ name }) => ({ path: 'podSpec', name })),
  ]
  const reserved = [...made, ...used].find(({ name }) => isReserved(name))
  if (reserved)
    return `workload.${reserved.path}: ${reserved.name} is reserved, as all names that begin with meshstep- or juju-service-mesh-: use another`
  const foreign = made.find(({ name }) => !isOwnName(application, name))
  return (
    foreign &&
    `workload.${foreign.path}: expected ${application}, or a name that begins with ${application}-, for what the application makes`
  )
}

/** Lists the objects of other owners that a workload uses: its account, and Secrets that its config does not create. */
export const usedBy = ({ namespace, application }: Subject, workload: PodWorkload): Reference[] => [
  { kind: 'ServiceAccount', namespace, name: accountOf(application, workload) },
  ...referencesIn(workload.podSpec)
    .filter(({ kind, name }) => kind === 'Secret' && name !== storeName(application) && !isOwnName(application, name))
    .map(({ kind, name }) => ({ kind, namespace, name })),
]

/** Tells if a workload's account is the application's own: the config creates it, or it has the application's name. */
export const isOwnAccount = (application: string, workload: PodWorkload): boolean => {
  const name = accountOf(application, workload)
  return name === application || (isAccountOurs(workload) && isOwnName(application, name))
}

/**
 * Renames ConfigMaps of files in Juju's form from `{container}-{volume}` to `{application}-{container}-{volume}`, unless the name belongs
 * to the application already. No charm chose these names.
 */
export const withOwnFiles = (application: string, workload: PodWorkload): PodWorkload => {
  const { podSpec, configMaps } = workload
  if (configMaps === undefined) return workload
  const made = [...podSpec.containers, ...(podSpec.initContainers ?? [])].flatMap(({ name, volumeMounts = [] }) =>
    volumeMounts.map((mount) => `${name}-${mount.name}`),
  )
  const renamed = (name: string): string =>
    made.includes(name) && Object.hasOwn(configMaps, name) && !isOwnName(application, name) && !isReserved(name)
      ? `${application}-${name}`
      : name
  const volumes = podSpec.volumes?.map((volume) => {
    const { configMap: source }: { name: string; configMap?: { name?: unknown } } = volume
    return typeof source?.name === 'string'
      ? { ...volume, configMap: { ...source, name: renamed(source.name) } }
      : volume
  })
  return {
    ...workload,
    podSpec: { ...podSpec, ...(volumes && { volumes }) },
    configMaps: Object.fromEntries(Object.entries(configMaps).map(([name, files]) => [renamed(name), files])),
  }
}

type Named = { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }

/** Lists the ConfigMaps and Secrets that a pod spec refers to, in `secretRef`, `secretName`, `configMap` and similar fields. */
const referencesIn = (value: unknown, under = ''): Named[] => {
  if (Array.isArray(value)) return value.flatMap((one) => referencesIn(one, under))
  if (typeof value !== 'object' || value === null) return []
  const { name, secretName } = value as { name?: unknown; secretName?: unknown }
  const named = (kind: Named['kind'], given: unknown): Named[] =>
    typeof given === 'string' ? [{ kind, name: given }] : []
  return [
    ...named('Secret', secretName),
    ...(/secret/i.test(under) ? named('Secret', name) : []),
    ...(/configMap/i.test(under) ? named('ConfigMap', name) : []),
    ...Object.entries(value).flatMap(([key, inner]) => referencesIn(inner, key)),
  ]
}
