import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Side } from '../../authorization/side.ts'
import { waypointsIn } from './relevant.ts'
import type { ObservedTarget } from './world.ts'

/** The Service of the target's own name. */
export const ownService = (
  { kind, application }: Side,
  { services }: Pick<ObservedTarget, 'services'>,
): KubernetesObject | undefined =>
  kind === 'application' ? services.find(({ metadata }) => metadata.name === application) : undefined

/** Tells if a Service stands for another name. Without a waypoint, who asks for it is decided about where that leads. */
export const isExternalName = (service: KubernetesObject | undefined): boolean => service?.spec?.type === 'ExternalName'

/** The reason why it is not known what changes for the clients of a Service that stands for another name; undefined where nothing does, or it stands for none. */
export const externalDoubt = (to: Side, sides: readonly [ObservedTarget, ObservedTarget]): string | undefined => {
  const [before, after] = sides.map((side) => ownService(to, side))
  if (before === undefined || (!isExternalName(before) && !isExternalName(after))) return undefined
  const isLed = sides.some(({ toNamespace }, index) =>
    [[before, after][index]?.metadata.labels ?? {}, toNamespace?.metadata.labels ?? {}].some(
      (labels) => waypointsIn(labels, to.namespace).length > 0,
    ),
  )
  return isLed || JSON.stringify(before.spec) !== JSON.stringify(after?.spec)
    ? 'the Service is, or was, of type ExternalName: it stands for another name, which is not followed here'
    : undefined
}
