import { type JsonMap, mapOf } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import type { Kind } from '../kinds/kind.ts'
import { badRequest, conflict, invalid } from '../kinds/status.ts'
import { checkVersion } from '../store/update.ts'
import { invalidValue } from '../validate/errors.ts'
import type { Named } from './call.ts'
import type { Target } from './route.ts'

/** Refuses an object of another namespace than the path's. */
export const checkNamespace = ({ kind, namespace }: Target, { metadata }: JsonMap, words: string): void => {
  const sent = mapOf(metadata).namespace
  if (kind.namespaced && sent !== undefined && sent !== '' && sent !== namespace) throw badRequest(words)
}

/** Refuses an object of another name or namespace than the path's. */
export const checkObjectName = (address: Named, object: JsonMap): void => {
  const { name, namespace } = mapOf(object.metadata)
  if (name === undefined || name === '') {
    throw badRequest(`the name of the object (${address.name} based on URL) was undeterminable: name must be provided`)
  }
  if (name !== address.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${address.name})`)
  const words = `the namespace of the object (${namespace}) does not match the namespace on the request (${address.namespace ?? ''})`
  checkNamespace({ ...address, subresource: undefined }, object, words)
}

/** Refuses a replace of another object or version than the stored one. */
export const checkReplace = (kind: Kind, live: KubernetesObject, { uid, resourceVersion }: JsonMap): void => {
  const { name } = live.metadata
  if (uid !== undefined && uid !== '' && uid !== live.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`
    throw conflict(kind, name, why)
  }
  if (kind.putNeedsVersion && !resourceVersion) {
    throw invalid({ group: kind.group, kind: kind.plural }, name, [
      invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  checkVersion(kind, live, resourceVersion)
}

/** Refuses to apply another object than the path names. */
export const checkConfig = (address: Named, config: JsonMap): void => {
  checkObjectName(address, { ...config, metadata: { name: address.name, ...mapOf(config.metadata) } })
  if (mapOf(config.metadata).managedFields !== undefined) throw badRequest('metadata.managedFields must be nil')
}
