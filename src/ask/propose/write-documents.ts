import type { Beacon } from './beacon.ts'
import type { ProposedCluster } from './cluster.ts'
import { beaconConfig, configComments, targetConfig } from './configs.ts'
import { createWriter, type ProposedDocument } from './document-writer.ts'
import { crossModelRelations, grantRelations, meshRelations } from './relations.ts'
import type { TargetDraft } from './target-draft.ts'

export type Setting = {
  readonly cluster: ProposedCluster
  readonly beacon: Beacon
  readonly window: string
  readonly isAudit: boolean
}

/**
 * Writes the documents of drafts, in the order in which they are applied: the beacon, then who may reach whom, and last who joins the mesh. So no client is
 * refused in between.
 */
export const writeDocuments = (drafts: readonly TargetDraft[], setting: Setting): ProposedDocument[] => {
  const { cluster, beacon, window } = setting
  const writer = createWriter(cluster)
  const joining = meshRelations(drafts, setting)
  const ofBeacon = beaconConfig(drafts, setting, joining.length > 0)
  return [
    ...(ofBeacon ? [writer.config(knownOf(beacon, cluster), ofBeacon.config, ofBeacon.comments)] : []),
    ...[...grantRelations(drafts, window), ...crossModelRelations(drafts, cluster)].map(writer.relation),
    ...drafts
      .filter(({ policies }) => policies.length > 0)
      .map((draft) => writer.config(draft.target, targetConfig(draft, setting), configComments(draft, window))),
    ...joining.map(writer.relation),
  ]
}

const knownOf = ({ namespace, application }: Beacon, { applications }: ProposedCluster) => ({
  subject: { namespace, application },
  state: applications.get(`${namespace}/${application}`)?.state,
})
