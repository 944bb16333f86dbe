import { ownValue } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import { fieldManagersAt } from './field-managers.ts'
import type { KubernetesObject } from './objects.ts'

const MANAGED_BY = 'app.kubernetes.io/managed-by'
const NAMESPACE = 'meshstep.dev/namespace'

export const APPLICATION_LABEL = 'meshstep.dev/application'

/** The labels of the memory. */
export const memoryLabels = (application: string): Record<string, string> => ({
  [MANAGED_BY]: 'meshstep',
  [APPLICATION_LABEL]: application,
})

export const MEMORY_SELECTOR = `${MANAGED_BY}=meshstep,${APPLICATION_LABEL}`

/** Selects all that meshstep made. */
export const MANAGED_SELECTOR = `${MANAGED_BY}=meshstep`

/** The labels of the objects that an application owns, in whichever namespace they are. */
export const ownerLabels = ({ namespace, application }: Subject): Record<string, string> => ({
  ...memoryLabels(application),
  [NAMESPACE]: namespace,
})

/** Selects the objects of one application, or of all in a namespace. */
export const ownerSelector = ({ namespace, application }: { namespace: string; application?: string }): string =>
  [
    `${MANAGED_BY}=meshstep`,
    application === undefined ? APPLICATION_LABEL : `${APPLICATION_LABEL}=${application}`,
    `${NAMESPACE}=${namespace}`,
  ].join(',')

/** Whether the object is of an application of the same name in another namespace: both have the same field manager. */
export const isOfNamesake = ({ namespace }: Subject, { metadata: { labels } }: KubernetesObject): boolean =>
  (ownValue(labels, NAMESPACE) ?? namespace) !== namespace

/** Whether `manager` made the object for its owner: the label that says so is its own, and not what somebody else put on. */
export const isOwnedBy = (object: KubernetesObject, manager: string): boolean =>
  fieldManagersAt(object, ['metadata', 'labels'], manager).own.has(NAMESPACE)

/** The field manager that holds what an application holds: its name on an object says whose that is when the memory is lost. */
export const fieldManager = (application: string): string => `meshstep/${application}`
