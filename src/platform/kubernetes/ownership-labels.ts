import { ownValue } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import { fieldManagersAt } from './field-managers.ts'
import type { KubernetesObject } from './objects.ts'

export const MANAGED_BY = 'app.kubernetes.io/managed-by'
const NAMESPACE = 'meshstep.dev/namespace'

export const APPLICATION_LABEL = 'meshstep.dev/application'

/** The labels of the memory. */
export const memoryLabels = (application: string): Record<string, string> => ({
  [MANAGED_BY]: 'meshstep',
  [APPLICATION_LABEL]: application,
})

/** Selects all objects of meshstep. */
export const MANAGED_SELECTOR = `${MANAGED_BY}=meshstep`

export const MEMORY_SELECTOR = `${MANAGED_BY}=meshstep,${APPLICATION_LABEL}`

/** The labels of an application's objects, in any namespace. */
export const ownerLabels = ({ namespace, application }: Subject): Record<string, string> => ({
  ...memoryLabels(application),
  [NAMESPACE]: namespace,
})

/** Selects the objects of one application, or of all applications in a namespace. */
export const ownerSelector = ({ namespace, application }: { namespace: string; application?: string }): string =>
  [
    `${MANAGED_BY}=meshstep`,
    application === undefined ? APPLICATION_LABEL : `${APPLICATION_LABEL}=${application}`,
    `${NAMESPACE}=${namespace}`,
  ].join(',')

/** Tells if the object belongs to an application of the same name in another namespace. Both have the same field manager. */
export const isOfNamesake = ({ namespace }: Subject, { metadata: { labels } }: KubernetesObject): boolean =>
  (ownValue(labels, NAMESPACE) ?? namespace) !== namespace

/** Tells if `manager` created the object for its owner. It must hold the label with the owner's namespace itself. */
export const isOwnedBy = (object: KubernetesObject, manager: string): boolean =>
  fieldManagersAt(object, ['metadata', 'labels'], manager).own.has(NAMESPACE)

/** Tells if another application has made the object its own since `manager` wrote it: that holds the label with the name of the owner. */
export const isTakenOver = (object: KubernetesObject, manager: string): boolean => {
  const { own, others } = fieldManagersAt(object, ['metadata', 'labels'], manager)
  return !own.has(APPLICATION_LABEL) && (others.get(APPLICATION_LABEL) ?? []).some(isOfMeshstep)
}

/** Tells if an application's field manager wrote the object. Labels prove nothing, because anybody may set them. */
export const isMadeByMeshstep = ({ metadata }: KubernetesObject): boolean =>
  (metadata.managedFields ?? []).some(({ manager }) => isOfMeshstep(manager))

const isOfMeshstep = (manager: string): boolean => manager.startsWith(fieldManager(''))

/** Returns the field manager of an application. It identifies an object's owner when the memory is lost. */
export const fieldManager = (application: string): string => `meshstep/${application}`
