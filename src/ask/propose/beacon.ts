import { ownWorkload } from '../../core/workload/config.ts'
import { runsWaypoint } from '../../mesh/istio/waypoint.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { subjectName, subjectNamed } from '../../platform/base/subject.ts'
import type { Application, ProposedCluster } from './cluster.ts'
import { freeName } from './free-name.ts'
import { beaconsOf, declaresClients } from './standing.ts'

/** The beacon that serves the applications of a namespace. */
export type Beacon = {
  readonly namespace: string
  readonly application: string
  /** It has a config already. */
  readonly isThere: boolean
  /** It runs a waypoint, so that policies of Services are enforced. */
  readonly hasWaypoint: boolean
  /** A document of this namespace may have its config. */
  readonly isOurs: boolean
  /** The accounts of clients that its config names, by `namespace/application`. */
  readonly accounts: Readonly<Record<string, string>>
  /** Tells if an application that joins without a proposal of its own refuses clients from then on. */
  closes(known: Application): boolean
  /** Sentences for a person on the effect of its config on the proposed policies. */
  readonly notes: readonly string[]
}

/** Finds the beacon of a namespace: the one there that most applications are related to, else the one elsewhere, else a new one. */
export const findBeacon = ({ namespace, applications }: ProposedCluster): Beacon => {
  const here = [...applications.values()].filter((one) => one.subject.namespace === namespace)
  const used = here.flatMap(beaconsOf)
  const own = here.filter(({ state }) => state?.config?.mesh !== undefined).map(({ subject }) => subjectName(subject))
  const [name] = [...new Set([...own, ...used])].toSorted(
    (one, other) =>
      Number(own.includes(other)) - Number(own.includes(one)) ||
      countOf(used, other) - countOf(used, one) ||
      (one < other ? -1 : 1),
  )
  return name === undefined ? newBeacon(namespace, applications) : knownBeacon(namespace, name, applications)
}

const countOf = (names: readonly string[], name: string): number => names.filter((one) => one === name).length

const newBeacon = (namespace: string, applications: ProposedCluster['applications']): Beacon => {
  return {
    namespace,
    application: freeName('beacon', (one) => applications.has(`${namespace}/${one}`)),
    isThere: false,
    hasWaypoint: true,
    isOurs: true,
    accounts: {},
    closes: declaresClients,
    notes: [],
  }
}

const knownBeacon = (here: string, name: string, applications: ProposedCluster['applications']): Beacon => {
  const { namespace, application } = subjectNamed(name)
  const config = applications.get(name)?.state?.config ?? {}
  const { mesh = {} } = config
  return {
    ...{ namespace, application, isThere: true },
    hasWaypoint: runsWaypoint(mesh),
    isOurs: namespace === here && ownWorkload(config) === undefined,
    accounts: config.serviceAccounts ?? {},
    closes: (known) =>
      declaresClients(known) ||
      mesh.hardened === true ||
      (mesh.policies !== undefined && known.state?.config?.policies === undefined),
    notes: [
      ...(mesh.manageAuthorizationPolicies === false
        ? [`${name} grants nothing (manageAuthorizationPolicies: false): the policies have no effect until it does`]
        : []),
      ...(mesh.guard === 'whenGranted'
        ? [`${name} guards only what somebody may reach (guard: whenGranted): applications without clients stay open`]
        : []),
      ...(mesh.enforcement === 'audit' ? [`${name} writes dry runs (enforcement: audit): nothing is refused yet`] : []),
    ],
  }
}

/** Tells if the beacon takes a client for the account that it runs as. */
export const knowsAccount = ({ accounts }: Beacon, { subject, workload }: Application): boolean =>
  workload !== undefined && (ownValue(accounts, subjectName(subject)) ?? subject.application) === workload.account
