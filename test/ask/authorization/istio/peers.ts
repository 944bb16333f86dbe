import type { PeerAuthentication } from '../../../../src/ask/authorization/evaluate.ts'
import { type Authorization, emptyMatch, type Match } from './ztunnel.ts'

export type Pod = { namespace: string; labels: Readonly<Record<string, string>> }

export const isSubset = (wanted: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value)

const PLAINTEXT: Match = { ...emptyMatch(), principals: { notValues: ['*'] } }
const STATIC: Authorization = { deny: true, rules: [[[PLAINTEXT]]] }

type Peer = PeerAuthentication | undefined
/** `made` are the two that istiod looks at when it makes a policy of that of the pods: there a selector must be absent. */
type Configs = { root: Peer; space: Peer; pods: Peer; made: { root: Peer; space: Peer } }

const ageOf = ({ created, namespace, name }: PeerAuthentication): string => `${created} ${namespace}/${name}`

const configsOf = (all: readonly PeerAuthentication[], root: string, pod: Pod): Configs => {
  const byAge = all.toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1))
  const isWide = (one: PeerAuthentication) => Object.keys(one.selector ?? {}).length === 0
  const own = byAge.filter((one) => one.namespace === pod.namespace && one.namespace !== root)
  const isBare = ({ selector }: PeerAuthentication) => selector === undefined
  const isOfMesh = (one: PeerAuthentication) => (pod.namespace === root ? isWide(one) : isBare(one))
  return {
    root: byAge.find((one) => one.namespace === root && isOfMesh(one)),
    space: own.find(isWide),
    made: { root: byAge.find((one) => one.namespace === root && isBare(one)), space: own.find(isBare) },
    pods: own.find((one) => !isWide(one) && isSubset(one.selector ?? {}, pod.labels)),
  }
}

/** What istiod attaches for the PeerAuthentications: a static DENY of plaintext, or one that it makes of the policy of the pods. */
export const peerAuthorizations = (all: readonly PeerAuthentication[], root: string, pod: Pod): Authorization[] => {
  const configs = configsOf(all, root, pod)
  const said = [configs.pods, configs.space].find((one) => one !== undefined && one.mode !== 'UNSET') ?? configs.root
  const isStrict = said?.mode === 'STRICT'
  const { mode = 'UNSET', ports = {} } = configs.pods ?? {}
  const exceptions = exceptionsTo(mode, isStrict)
  if (!Object.values(ports).some((one) => exceptions.includes(one))) return isStrict ? [STATIC] : []
  return convert({ ...configs, ...configs.made })
}

/** The modes of a port for which istiod refers to the converted policy instead. */
const exceptionsTo = (mode: string, isStrict: boolean): string[] => {
  if (!isStrict) return ['STRICT']
  return mode === 'STRICT' ? ['PERMISSIVE', 'DISABLE'] : ['PERMISSIVE']
}

const convert = (configs: Configs): Authorization[] => {
  const { mode = 'UNSET', ports = {} } = configs.pods ?? {}
  const portsOf = (...modes: string[]) => Object.keys(ports).filter((port) => modes.includes(ports[port] ?? ''))
  const strict = isCovered(mode, configs) ? [] : portsOf('STRICT')
  const exempt = isExempting(mode, configs) ? portsOf('PERMISSIVE', 'DISABLE') : []
  if (mode === 'STRICT' && exempt.length === 0) return []
  const isMerged = exempt.length > 0 && Object.values(parentsOf(configs)).includes(true)
  const conjunction = [
    ...(mode === 'STRICT' || isMerged ? [[PLAINTEXT]] : []),
    ...exempt.map((port) => [{ ...emptyMatch(), ports: { notValues: [port] } }]),
  ]
  const rules = strict.map((port) => [[{ ...PLAINTEXT, ports: { values: [port] } }]])
  const all = [...rules, ...(conjunction.length > 0 ? [conjunction] : [])]
  return all.length === 0 ? [] : [{ deny: true, rules: all }]
}

const isCovered = (mode: string, configs: Configs): boolean => {
  const { isStrict, isStrictHere } = parentsOf(configs)
  return mode === 'STRICT' || isStrict || (mode === 'UNSET' && isStrictHere)
}

const parentsOf = ({ root, space }: Configs): { isStrict: boolean; isStrictHere: boolean } => ({
  isStrict: root?.mode === 'STRICT' && (space === undefined || space.mode === 'UNSET'),
  isStrictHere: space?.mode === 'STRICT',
})

/** A port is only exempt from what the policy itself, or the nearest one above it, says. */
const isExempting = (mode: string, { root, space }: Configs): boolean =>
  mode === 'UNSET' ? (space ?? root)?.mode === 'STRICT' : mode === 'STRICT'
