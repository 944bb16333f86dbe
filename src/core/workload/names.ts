import type { Subject } from '../../platform/base/subject.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { accountNamed, accountOf, isAccountOurs, type PodWorkload } from './config.ts'
import { storeName } from './secrets.ts'

/** Memories, secret stores, accounts and Roles of meshstep have such names, and nothing else has. */
const RESERVED = /^(meshstep|juju-service-mesh)(-|$)/

/** Tells if a name is one of meshstep's own, which nobody may give to an object. */
export const isReserved = (name: string): boolean => RESERVED.test(name)

/** Tells if objects of that name are the application's: it is the application's own, or begins with that and a hyphen. */
export const isOwnName = (application: string, name: string): boolean =>
  !isReserved(name) && (name === application || name.startsWith(`${application}-`))

/** The problem of the first name that an application may not use for what its workload makes, runs as or reads. */
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
    return `workload.${reserved.path}: ${reserved.name} is a name of meshstep's own, as all that begin with meshstep- or juju-service-mesh-: use another`
  const foreign = made.find(({ name }) => !isOwnName(application, name))
  return (
    foreign &&
    `workload.${foreign.path}: expected ${application}, or a name that begins with ${application}-, for what the application makes`
  )
}

/** The objects of others that a workload uses: the account that it runs as, and Secrets that its config does not make. */
export const usedBy = ({ namespace, application }: Subject, workload: PodWorkload): Reference[] => [
  { kind: 'ServiceAccount', namespace, name: accountOf(application, workload) },
  ...referencesIn(workload.podSpec)
    .filter(({ kind, name }) => kind === 'Secret' && name !== storeName(application) && !isOwnName(application, name))
    .map(({ kind, name }) => ({ kind, namespace, name })),
]

/** Tells if a workload's account is the application's own: its config makes it, or it has the application's name. */
export const isOwnAccount = (application: string, workload: PodWorkload): boolean => {
  const name = accountOf(application, workload)
  return name === application || (isAccountOurs(workload) && isOwnName(application, name))
}

/**
 * Renames the ConfigMaps of files in Juju's form, `{container}-{volume}`, to `{application}-{container}-{volume}` where they are not the
 * application's by their names: no charm chose these.
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
    const source = volume.configMap as { readonly name?: unknown } | undefined
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

/** The ConfigMaps and Secrets that a pod spec refers to, wherever it does: `secretRef`, `secretName`, `configMap` and their like. */
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
