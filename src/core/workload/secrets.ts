import type { Subject } from '../../platform/base/subject.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { configsIn, type State } from '../state/state.ts'
import { ownWorkload, type PodWorkload } from './config.ts'
import type { Container } from './pod-spec.ts'
import { hasReferences, holdsSecret, namesSecret } from './secret-look.ts'
import { heldConfig } from './slowed.ts'

/** Names the Secret with an application's secret values. The memory only holds their keys. */
export const storeName = (application: string): string => `meshstep-${application}-secrets`

export const storeReference = ({ namespace, application }: Subject) =>
  ({ kind: 'Secret', namespace, name: storeName(application) }) as const satisfies Reference

/** Values by key, as text. */
export type Values = Readonly<Record<string, string>>

/** Tells if a variable's value is a secret: by `secretEnv`, or else by its name, or else by credentials in the value. */
export const isSecret = (name: string, value: string, secretEnv: Readonly<Record<string, boolean>> = {}): boolean =>
  Object.hasOwn(secretEnv, name) ? secretEnv[name] === true : namesSecret(name) || holdsSecret(value)

/** Tells if Kubernetes replaces `$(NAME)` in a value. It does not do so in values from a Secret. */
const isComposed = (value: string): boolean => hasReferences(value.replaceAll('$$', ''))

type Variable = NonNullable<Container['env']>[number]

const isConcealed = ({ secretEnv }: PodWorkload, name: string, value: string | undefined, text = value): boolean =>
  value !== undefined && value !== '' && isSecret(name, text ?? '', secretEnv) && !isComposed(value)

const ARGUMENTS = ['command', 'args'] as const

/** Replaces each secret value of the workload by its key from `keep`. A secret argument becomes a reference to a variable, which Kubernetes fills in. */
export const concealed = (
  workload: PodWorkload,
  application: string,
  keep: (prefix: string, value: string) => string,
): PodWorkload => {
  const kept = (container: string, name: string, value: string): Variable => {
    const key = keep(prefixOf('env', container, name), value.replaceAll('$$', '$'))
    return { name, valueFrom: { secretKeyRef: { name: storeName(application), key } } }
  }
  const container = (one: Container): Container => {
    const env = (one.env ?? []).map((variable) => {
      const { value, ...others } = variable
      if (value === undefined || !isConcealed(workload, others.name, value)) return variable
      return { ...others, ...kept(one.name, others.name, value) }
    })
    const parts = ARGUMENTS.flatMap((part) => {
      const given = one[part]
      if (!Array.isArray(given)) return []
      const filled = given.map((value: unknown, index) => {
        const name = `MESHSTEP_${part.toUpperCase()}_${index}`
        if (typeof value !== 'string' || !isConcealed(workload, name, value, withOption(given[index - 1], value)))
          return value
        env.push(kept(one.name, name, value))
        return `$(${name})`
      })
      return [[part, filled]]
    })
    return { ...one, ...Object.fromEntries(parts), ...(env.length > 0 && { env }) }
  }
  const { podSpec, secrets } = workload
  return {
    ...workload,
    podSpec: {
      ...podSpec,
      containers: podSpec.containers.map(container),
      ...(podSpec.initContainers && { initContainers: podSpec.initContainers.map(container) }),
    },
    ...(secrets && {
      secrets: mapped(secrets, (texts, name) =>
        mapped(texts, (text, key) => keep(prefixOf('secret', name, key), text)),
      ),
    }),
  }
}

/** Tells if the workload has secret values. */
export const hasSecrets = (workload: PodWorkload, application: string): boolean => {
  let has = false
  concealed(workload, application, () => {
    has = true
    return ''
  })
  return has
}

/** Joins an argument with the option before it, if that option has no value of its own. */
const withOption = (before: unknown, value: string): string =>
  typeof before === 'string' && /^--?[^\s=]+$/.test(before) ? `${before} ${value}` : value

const mapped = <T, U>(record: Readonly<Record<string, T>>, change: (value: T, key: string) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))

const LONGEST_PART = 100

/** Builds the beginning of a value's key, `{kind}.{container or Secret}.{name}`. The version follows it. A new value gets a new key, so that pods restart. */
const prefixOf = (kind: 'env' | 'secret', ...names: string[]): string =>
  [kind, ...names.map((name) => name.replaceAll(/[^-._a-zA-Z0-9]/g, '_').slice(0, LONGEST_PART))].join('.')

/** Finds the key that already has the value. */
export const findKey = (values: Values, prefix: string, value: string): string | undefined =>
  Object.keys(values).findLast((key) => isVersionOf(key, prefix) && values[key] === value)

/** Returns an unused key. Versions follow the clock, because a lost store has no count. */
export const newKey = (taken: ReadonlySet<string>, prefix: string, now: number): string => {
  for (let version = now; ; version += 1) {
    const key = `${prefix}.${version.toString(36)}`
    if (!taken.has(key)) return key
  }
}

const isVersionOf = (key: string, prefix: string): boolean =>
  key.startsWith(`${prefix}.`) && !key.slice(prefix.length + 1).includes('.')

/** Names the Secrets with values under these keys. */
export const secretsKept = (keys: readonly string[]): string[] => [
  ...new Set(keys.flatMap((key) => (key.startsWith('secret.') ? (key.split('.')[1] ?? []) : []))),
]

/** Warns of secret values that cannot be moved to a Secret, because more people may read a ConfigMap. */
export const secretWarnings = ({ podSpec: { containers, initContainers = [] }, secretEnv }: PodWorkload): string[] =>
  [...containers, ...initContainers].flatMap(({ name, env = [] }) =>
    env
      .filter(({ name: variable, value }) => value && isSecret(variable, value, secretEnv))
      .map(
        ({ name: variable }) =>
          `the value of ${variable} in container ${name} is kept in ConfigMaps as plain text, because Kubernetes replaces $(NAME) only there. Put its secret part into a variable of its own`,
      ),
  )

/** Lists the keys of the store that a workload refers to. */
const referredKeys = ({ podSpec, secrets = {} }: PodWorkload, application: string): string[] => [
  ...[...podSpec.containers, ...(podSpec.initContainers ?? [])].flatMap(({ env = [] }) =>
    env.flatMap((variable) => storedKey(variable, storeName(application)) ?? []),
  ),
  ...Object.values(secrets).flatMap((keys) => Object.values(keys)),
]

const storedKey = ({ valueFrom }: Variable, store: string): string | undefined => {
  const { secretKeyRef }: { secretKeyRef?: { name?: unknown; key?: unknown } } = valueFrom ?? {}
  return secretKeyRef?.name === store && typeof secretKeyRef.key === 'string' ? secretKeyRef.key : undefined
}

/**
 * Lists the keys of the store that a memory refers to: in the current workload, in those that wait for a leader, and in one that is slowed.
 */
export const rememberedKeys = (
  { slowed, ...state }: Pick<State, 'config' | 'pending' | 'slowed'>,
  application: string,
): Set<string> => {
  const workloads = [...configsIn(state), heldConfig(slowed)].flatMap((one) => ownWorkload(one) ?? [])
  return new Set(workloads.flatMap((one) => referredKeys(one, application)))
}
