import { spokenVersions } from '../../../src/core/relations/databags/protocol-versions.ts'
import { publishable } from '../../../src/core/relations/databags/relation-data.ts'
import type { Versions } from '../../../src/core/state/config.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { type Services, serviceContent } from '../../../src/features/services/provided.ts'

type Provider = {
  readonly namespace: string
  readonly relations: readonly Relation[]
  readonly services?: Services | undefined
  readonly versions?: Versions | undefined
}

/** The databags of an application in its relations of `k8s-service`, by id, as they are published. */
export const serviceDatabags = ({ namespace, relations, services, versions }: Provider) =>
  relations
    .map((relation) => ({ relation: relation.id, content: serviceContent(relation, namespace, services) }))
    .toSorted((one, other) => one.relation - other.relation)
    .flatMap(({ relation, content }) =>
      content ? [{ relation, data: publishable(content, spokenVersions('k8s-service', versions)) }] : [],
    )
