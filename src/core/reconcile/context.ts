import type { Clock } from '../../platform/base/clock.ts'
import type { Recall } from '../../platform/base/recall.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { CheckAdmissionPolicy } from '../access/admission-policy.ts'
import type { AuthorizeAuthor } from '../access/document-authors.ts'
import type { Features } from '../feature/combine.ts'
import type { Environment } from '../feature/feature.ts'

/** The application of a step, and the dependencies of its stages. */
export type Context = {
  readonly subject: Subject
  readonly features: Features
  /** Its calls end at the deadline of the step. */
  readonly kubernetes: Kubernetes
  readonly clock: Clock
  readonly environment: Environment
  readonly recall: Recall
  /** Checks that the writers of documents are authenticated. Absent if senders are not. */
  readonly checkAdmissionPolicy?: CheckAdmissionPolicy | undefined
  /** Authorizes the authors of documents. Without it, documents of any author are accepted. */
  readonly authorizeAuthor?: AuthorizeAuthor | undefined
}
