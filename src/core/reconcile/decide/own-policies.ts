import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Features } from '../../feature/combine.ts'
import type { Situation } from './situation.ts'

/** Names the policies of the application's own pods and Services. */
export const ownGuards = (situation: Situation): string[] =>
  situation.desired.objects.filter(ownGuardIn(situation)).map(objectKey)

/** Tells if a policy allows access without a request. All other access is denied only once such policies stand. */
export const isBasicAllow = ({ mesh }: Pick<Features, 'mesh'>, object: KubernetesObject): boolean =>
  mesh.isPolicy(object) && !mesh.isDenying(object) && mesh.requestersOf(object).length === 0

/** Creates a test for policies of the application's own pods and Services. */
export const ownGuardIn = ({
  features,
  subject,
  state,
  observed,
}: Situation): ((object: KubernetesObject) => boolean) => {
  const { namespace, application } = subject
  const services = features.targets(application, state.config).filter(({ kind }) => kind === 'Service')
  const former = observed.targets.earlier.flatMap(({ target }) => (target.kind === 'Service' ? [target.name] : []))
  const names = [application, ...services.map(({ name }) => name), ...former]
  const { isPolicy, isGuarding } = features.mesh
  return (object) => isPolicy(object) && object.metadata.namespace === namespace && isGuarding(object, names)
}
