import type { Config } from '../../core/state/config.ts'
import { subjectName } from '../../platform/base/subject.ts'
import { knowsAccount } from './beacon.ts'
import { evidence, type Seen } from './seen.ts'
import { declaresClients, listedPolicies } from './standing.ts'
import type { TargetDraft } from './target-draft.ts'
import type { Setting } from './write-documents.ts'

/** The config of a target: the present one, and the policies that it lacks. */
export const targetConfig = ({ target, policies }: TargetDraft, { beacon, isAudit }: Setting): Config => {
  const { config = {} } = target.state ?? {}
  // a dry run of what is enforced already would open it
  const isDry = isAudit && beacon.isThere && !declaresClients(target)
  return { ...config, ...(isDry && { enforcement: 'audit' }), policies: [...listedPolicies(target), ...policies] }
}

/** The sentences above the config of a target. */
export const configComments = (
  { target, granted, standing, isTouched, remarks }: TargetDraft,
  window: string,
): string[] => {
  const name = subjectName(target.subject)
  const seen = [...granted, ...standing].map((one: Seen) => `${one.from} → ${name}: ${evidence(one, window)}.`)
  return [
    ...(seen.length > 0 ? seen : [nobody(name, window, isTouched)]),
    ...remarks,
    ...replaced(target.state?.config, target.state?.document),
  ]
}

const nobody = (name: string, window: string, isTouched: boolean): string =>
  isTouched
    ? `The clients of ${name} that were seen in the last ${window} are listed at the end: nobody may reach it.`
    : `No client of ${name} was seen in the last ${window}: nobody may reach it.`

const replaced = (config: object | undefined, document: string | undefined): string[] =>
  config === undefined || Object.keys(config).length === 0
    ? []
    : [
        document === undefined
          ? 'It has the config that events told, and adds policies. It goes before such events from now on.'
          : `It has the config of the ConfigMap ${document}, and adds policies.`,
      ]

type Proposed = { readonly config: Config; readonly comments: readonly string[] }

/** The config of the beacon, if it has none yet, or lacks the accounts of clients. */
export const beaconConfig = (
  drafts: readonly TargetDraft[],
  { cluster, beacon, isAudit }: Setting,
  isJoined: boolean,
): Proposed | undefined => {
  const name = subjectName(beacon)
  const clients = drafts
    .flatMap(({ granted, standing }) => [...granted, ...standing])
    .flatMap(({ from }) => cluster.applications.get(from) ?? [])
    .filter((client) => !knowsAccount(beacon, client))
  const accounts = Object.fromEntries(
    clients.map(({ subject, workload }) => [subjectName(subject), workload?.account ?? '']),
  )
  const needsAccounts = Object.keys(accounts).length > 0
  if (beacon.isThere ? !needsAccounts : !isJoined) return undefined
  const { config, document } = cluster.applications.get(name)?.state ?? {}
  return {
    config: {
      ...(beacon.isThere ? config : { mesh: isAudit ? { enforcement: 'audit' } : {} }),
      ...(needsAccounts && { serviceAccounts: { ...beacon.accounts, ...accounts } }),
    },
    comments: [
      ...(beacon.isThere
        ? []
        : [`${name} runs the mesh of ${beacon.namespace}, with a waypoint that enforces policies.`]),
      ...(needsAccounts ? ['Clients whose ServiceAccount has another name are known by it.'] : []),
      ...(beacon.isThere ? replaced(config, document) : []),
    ],
  }
}
