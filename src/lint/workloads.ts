import { type Subject, subjectName } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import { candidateKinds } from '../kubernetes/apply-labels.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { State } from '../state/state.ts'
import type { Finding } from './lint.ts'

/** A StatefulSet and a Deployment of one name, of which an application labels the first alone. */
export const workloadFindings = async (
  { targets }: Pick<Features, 'targets'>,
  kubernetes: Kubernetes,
  namespace: string,
  known: readonly { readonly subject: Subject; readonly state: State }[],
): Promise<Finding[]> => {
  if (known.length === 0) return []
  const listed = await Promise.all(candidateKinds().map((kind) => kubernetes.list(kind, namespace)))
  const [ordered = new Set(), deployed = new Set()] = listed.map(
    (objects) => new Set(objects.map(({ metadata }) => metadata.name)),
  )
  return known.flatMap(({ subject, state }) =>
    targets(subject.application, state.config)
      .filter(({ kind, name }) => kind === 'Workload' && ordered.has(name) && deployed.has(name))
      .map(({ name }) => {
        const [first, other] = candidateKinds(state.workloadKind)
        return {
          rule: 'workload-twice',
          about: subjectName(subject),
          message:
            `${first} and ${other} ${namespace}/${name} have one name, and labels go to the ${first} alone: ` +
            `delete or rename the one that is not meant`,
        }
      }),
  )
}
