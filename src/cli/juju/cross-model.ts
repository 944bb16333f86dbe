import { type CrossModelIdentity, readCrossModelIdentity } from '../../core/relations/databags/cross-model.ts'
import type { RelationIdentity } from '../../core/state/relation.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import {
  applicationOf,
  namespaceOf,
  offersIn,
  reportsOwnData,
  runsOnMachines,
  type Side,
  saasNamed,
  sidesById,
} from './model.ts'
import { addressOn, type Model } from './parse-output.ts'

/** The real names of applications of other models, by their local names. */
export type Remotes = ReadonlyMap<string, CrossModelIdentity>

/** The models that are known, and the one of the relation. */
export type Known = { readonly model: Model; readonly models: readonly Model[]; readonly remotes: Remotes }

/** A relation to another model; or the reason why it is left out, or not known. */
export type CrossModel =
  | { readonly identity: CrossModelIdentity; readonly interface: string; readonly role: RelationIdentity['role'] }
  | { readonly leftOut: string }
  | { readonly missing: string }

const ROLES = { provider: 'provides', requirer: 'requires' } as const
const ROLES_OF_PEER = { provider: 'requires', requirer: 'provides' } as const

const ON_MACHINES: CrossModel = { leftOut: 'its peer runs on machines' }

/** Finds the application at the other side of a relation across models, the interface, and the role of this side. */
export const readCrossModel = (known: Known, id: number, side: Side): CrossModel => {
  const saas = saasNamed(known.model, side.remote ?? '')
  return saas === undefined ? offered(known, id, side) : consumed(known, side, saas)
}

/** This side consumes an offer. */
const consumed = (
  { model, models, remotes }: Known,
  { info, remote = '' }: Side,
  saas: NonNullable<ReturnType<typeof saasNamed>>,
): CrossModel => {
  const endpoint = ownValue(saas.endpoints, info['related-endpoint'])
  if (endpoint === undefined) return { missing: `the offer ${saas.url} has no endpoint ${info['related-endpoint']}` }
  const relation = { interface: endpoint.interface, role: ROLES_OF_PEER[endpoint.role] }
  const said = remotes.get(remote)
  if (said !== undefined) return { ...relation, identity: said }
  const offer = offerAt(model, models, saas.url)
  if (offer === undefined)
    return {
      missing: `the application behind ${saas.url} is missing: add juju status --format json of its model, or say --remote ${remote}=NAMESPACE/APPLICATION`,
    }
  return runsOnMachines(offer.model) ? ON_MACHINES : { ...relation, identity: identityIn(offer.model, offer) }
}

const identityIn = (model: Model, { application }: { readonly application: string }): CrossModelIdentity => ({
  namespace: namespaceOf(model),
  application,
})

/** `[controller:][owner/]model.offer` */
const URL = /^(?:(?<controller>[^:]+):)?(?<model>(?:[^/]+\/)?[^./]+)\.(?<offer>.+)$/

/** Names the model of an offer as `juju --model` takes it, on `controller` where the URL names none. */
export const modelOfOffer = (url: string, controller: string): string | undefined => {
  const { controller: own = controller, model } = URL.exec(url)?.groups ?? {}
  return model === undefined ? undefined : addressOn(own, model)
}

/** The name of a model without its controller and its owner. */
const shortName = (model: string): string => model.replace(/^.*[:/]/, '')

/** Tells if a model is the one of an address. A recorded status has only its short name. */
const isAt = ({ name, address }: Model, asked: string): boolean =>
  address === undefined ? name === shortName(asked) : address === asked

/** Finds the offer of a URL that a model has. Models of other users and controllers may have the same name. */
const offerAt = ({ status }: Model, models: readonly Model[], url: string) => {
  const home = modelOfOffer(url, status.model.controller)
  const model = home === undefined ? undefined : models.find((one) => isAt(one, home))
  const offer = model && offersIn(model).find((one) => one.name === URL.exec(url)?.groups?.offer)
  return model && offer && { model, application: offer.application }
}

/** This side is offered. It sees neither the name nor the model of its consumer, only an alias of Juju's own. */
const offered = (known: Known, id: number, side: Side): CrossModel => {
  const { application, info, remote } = side
  const offer = offersIn(known.model).find(
    (one) => one.application === application && ownValue(one.endpoints, info.endpoint),
  )
  const endpoint = offer?.endpoints[info.endpoint]
  if (endpoint === undefined) return { missing: `no offer of ${application} has the endpoint ${info.endpoint}` }
  const relation = { interface: endpoint.interface, role: ROLES[endpoint.role] }
  const said = known.remotes.get(remote ?? '')
  if (said !== undefined) return { ...relation, identity: said }
  const consumers = consumersOf(known, id, side)
  const published = publishedName(known.model, remote)
  if (published !== undefined)
    return mayBe(known.model, id, consumers, published)
      ? { ...relation, identity: published }
      : {
          missing: `its consumer publishes the name ${published.namespace}/${published.application}, which is not its own as far as Juju says: correct it there, or say --remote ${remote}=NAMESPACE/APPLICATION`,
        }
  const [consumer] = consumers
  if (consumer === undefined || consumers.length > 1 || isShared(known, id, side))
    return {
      missing: `the consumer of the offer is missing, or there are several: add the status of its model, or say --remote ${remote ?? 'ALIAS'}=NAMESPACE/APPLICATION`,
    }
  return runsOnMachines(consumer.model) ? ON_MACHINES : { ...relation, identity: identityIn(consumer.model, consumer) }
}

/** The consumer's own word, which it publishes in a relation of `cross_model_mesh`. Juju 4 does not show the peer's data. */
const publishedName = (model: Model, alias: string | undefined): CrossModelIdentity | undefined => {
  if (alias === undefined || reportsOwnData(model)) return undefined
  const infos = [...model.units.values()].flat()
  const named = infos.filter((info) => Object.keys(info['related-units']).some((unit) => applicationOf(unit) === alias))
  for (const info of named) {
    const read = readCrossModelIdentity(info['application-data'])
    if ('value' in read && read.value !== undefined) return read.value
  }
  return undefined
}

type Consumer = { readonly model: Model; readonly application: string }

/** Tells if a published name may be that of the consumer: Juju names its model and, if that can be read, all that consume the offer there. */
const mayBe = (model: Model, id: number, consumers: readonly Consumer[], published: CrossModelIdentity): boolean => {
  const home = homeOf(model, id)
  if (home === undefined) return published.namespace !== namespaceOf(model)
  const known = consumers.map((one) => identityIn(one.model, one))
  return known.length === 0
    ? published.namespace === shortName(home)
    : known.some((one) => one.namespace === published.namespace && one.application === published.application)
}

/** Names the model that has this relation to an offer, where Juju says it. */
const homeOf = ({ connections, status }: Model, id: number): string | undefined => {
  const found = connections.find((one) => one.id === id)
  return found && addressOn(status.model.controller, found.model)
}

/** Lists the applications of other models that consume this offered endpoint: those of the model that has this relation, where Juju says which one. */
const consumersOf = ({ model, models }: Known, id: number, { application, info }: Side): Consumer[] => {
  const home = homeOf(model, id)
  const others = models.filter((one) => one !== model && (home === undefined || isAt(one, home)))
  return others.flatMap((other) =>
    Object.keys(other.status['application-endpoints']).flatMap((alias) => {
      const saas = saasNamed(other, alias)
      const offer = saas && offerAt(other, models, saas.url)
      if (offer?.model !== model || offer.application !== application) return []
      return (saas?.relations[info.endpoint] ?? []).map((name) => ({ model: other, application: name }))
    }),
  )
}

/** Tells if other relations of this endpoint come from other models as well. Then it takes Juju's word to tell them apart. */
const isShared = ({ model }: Known, id: number, { application, info }: Side): boolean =>
  model.connections.every((one) => one.id !== id) &&
  [...sidesById(model)].some(
    ([other, sides]) =>
      other !== id &&
      sides.some(
        (one) => one.application === application && one.info.endpoint === info.endpoint && one.info['cross-model'],
      ),
  )
