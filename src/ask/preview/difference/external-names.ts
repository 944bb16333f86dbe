import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Side } from '../../authorization/side.ts'
import { waypointsIn } from './relevant.ts'
import type { ObservedTarget } from './world.ts'

/** Finds the Service with the target's own name. */
export const ownService = (
  { kind, application }: Side,
  { services }: Pick<ObservedTarget, 'services'>,
): KubernetesObject | undefined =>
  kind === 'application' ? services.find(({ metadata }) => metadata.name === application) : undefined

/** Tells if a Service is of type ExternalName. Unless it has a waypoint, requests are decided at the destination of that name. */
export const isExternalName = (service: KubernetesObject | undefined): boolean => service?.spec?.type === 'ExternalName'

/** Returns the reason why changes at an ExternalName Service are unknown. Returns undefined if nothing changes, or the Service is of another type. */
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
