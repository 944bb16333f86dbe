import { publishable } from '../../src/relations/codec.ts'
import { spokenVersions } from '../../src/relations/versions.ts'
import { type Services, serviceContent } from '../../src/services/provided.ts'
import type { Versions } from '../../src/state/config.ts'
import type { Relation } from '../../src/state/relation.ts'

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
