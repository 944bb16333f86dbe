import { stringify } from 'yaml'
import type { RelationIdentity } from '../../core/state/relation.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { DOCUMENT_LABEL } from '../../platform/cloudevents/knative/document.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Application, ProposedCluster } from './cluster.ts'
import { freeName } from './free-name.ts'

/** A document, and the sentences that stand above it: why it is proposed. */
export type ProposedDocument = { readonly comments: readonly string[]; readonly document: KubernetesObject }

export type ToldRelation = {
  readonly of: Subject
  readonly relation: Omit<RelationIdentity, 'id'>
  readonly remote: Subject
  readonly comments: readonly string[]
}

/** Writes documents under names that no ConfigMap has, with ids that no relation has. */
export const createWriter = ({ configMaps, highestIds }: Pick<ProposedCluster, 'configMaps' | 'highestIds'>) => {
  const taken = new Set(configMaps)
  const ids = new Map(highestIds)

  const nameFor = (namespace: string, wanted: string): string => {
    const name = freeName(wanted, (one) => taken.has(`${namespace}/${one}`))
    taken.add(`${namespace}/${name}`)
    return name
  }

  return {
    relation: ({ of, relation, remote, comments }: ToldRelation): ProposedDocument => {
      const { namespace, application } = of
      const id = (ids.get(namespace) ?? 0) + 1
      ids.set(namespace, id)
      const elsewhere = remote.namespace === namespace ? {} : { namespace: remote.namespace }
      return {
        comments,
        document: documentOf('relation', namespace, nameFor(namespace, `relation-${id}`), {
          application,
          relation: inOneLine({ id, ...relation }),
          remote: inOneLine({ application: remote.application, ...elsewhere, data: {} }),
        }),
      }
    },
    /** Writes a config as a whole, in place of the document that had it. */
    config: (
      { subject, state }: Pick<Application, 'subject' | 'state'>,
      config: object,
      comments: readonly string[],
    ): ProposedDocument => {
      const { namespace, application } = subject
      const name = state?.document ?? nameFor(namespace, `config-${application}`)
      return {
        comments,
        document: documentOf('config', namespace, name, { application, config: stringify(config, { lineWidth: 0 }) }),
      }
    },
  }
}

const documentOf = (kind: string, namespace: string, name: string, data: Record<string, string>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { [DOCUMENT_LABEL]: kind } },
  data,
})

const inOneLine = (value: object): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
