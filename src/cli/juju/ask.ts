import { Failure } from '../failure.ts'
import { askOptions, type ConfigOption } from './config.ts'
import { modelOfOffer } from './cross-model.ts'
import { reportsOwnData, saasNamed } from './model.ts'
import {
  addressOn,
  addTable,
  addUnits,
  type Connection,
  type Model,
  readConnections,
  readStatus,
  readWhich,
} from './parse-output.ts'
import type { RunJuju } from './run.ts'

/** The model that was asked about, first, and the models that its relations lead to. */
export type Answer = {
  readonly models: readonly [Model, ...Model[]]
  /** The configs in the options that were asked for, by application: empty where an option has no value. */
  readonly configs: ReadonlyMap<string, string>
  /** Sentences about models that cannot be read. */
  readonly notes: readonly string[]
}

/** A unit may go between two commands. */
const MOST_ATTEMPTS = 3

/**
 * Asks Juju about a model: its status, its table of relations, its units, and the given options of charms. Of the models that it has relations to, it asks
 * only for the status. Rejects with Failure if anything about the model itself cannot be read.
 */
export const askJuju = async (run: RunJuju, name: string, options: readonly ConfigOption[] = []): Promise<Answer> => {
  const read = await askAgain(run, name)
  const model = {
    ...read,
    ...readWhich({ path: 'juju show-model', text: await run(['show-model', '--format=json', name]) }),
  }
  const { applications } = model.status
  const there = options.filter(({ application }) => Object.hasOwn(applications, application))
  const configs = await askOptions(run, name, there)
  const notes: string[] = []
  const tried = async <T>(asking: Promise<T>): Promise<T | undefined> => {
    try {
      return await asking
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      notes.push(error.message)
      return undefined
    }
  }
  const connections = (await tried(askConnections(run, name, model))) ?? []
  model.connections.push(...connections)
  const others = await Promise.all([...otherModels(model)].map((other) => tried(askOther(run, other))))
  return { models: [model, ...others.filter((one) => one !== undefined)], configs, notes }
}

const askAgain = async (run: RunJuju, name: string): Promise<Model> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await askModel(run, name)
    } catch (error) {
      const isGone = error instanceof Failure && /unit .*not found/.test(error.message)
      if (!isGone || attempt === MOST_ATTEMPTS) throw error
    }
}

const askModel = async (run: RunJuju, name: string): Promise<Model> => {
  const model = await askStatus(run, name)
  addTable(model, await run(['status', '--relations', ofModel(name)]))
  const units = unitsToAsk(model)
  if (units.length > 0) {
    const text = await run(['show-unit', '--format=json', ofModel(name), ...units])
    addUnits(model, { path: 'juju show-unit', text })
    const unanswered = units.filter((unit) => !model.units.has(unit))
    if (unanswered.length > 0) throw new Failure(`juju show-unit: ${unanswered.join(', ')} are not in its answer`)
  }
  return model
}

const askStatus = async (run: RunJuju, name: string): Promise<Model> => {
  const text = await run(['status', '--format=json', ofModel(name)])
  return readStatus({ path: 'juju status', text })
}

const askOther = async (run: RunJuju, address: string): Promise<Model> => ({
  ...(await askStatus(run, address)),
  address,
})

const ofModel = (name: string): string => `--model=${name}`

/** The units that know all: the leader of each application. Juju 4 shows of a unit what it publishes itself, so there all are asked. */
const unitsToAsk = (model: Model): string[] =>
  Object.values(model.status.applications).flatMap((application) => {
    if ('status-error' in application) return []
    const units = Object.entries(application.units)
    if (reportsOwnData(model)) return units.map(([unit]) => unit)
    const [unit] = units.find(([, { leader }]) => leader) ?? units[0] ?? []
    return unit ?? []
  })

/** Asks who consumes the offers, if there are any. */
const askConnections = async (run: RunJuju, name: string, model: Model): Promise<Connection[]> => {
  if (Object.keys(model.status.offers).length === 0) return []
  const offers = { path: 'juju offers', text: await run(['offers', '--format=json', ofModel(name)]) }
  const { controller } = model.status.model
  const ofController = controller === '' ? [] : [`--controller=${controller}`]
  return readConnections(offers, {
    path: 'juju models',
    text: await run(['models', '--format=json', ...ofController]),
  })
}

/** Names the models of consumed offers, and of consumers. */
const otherModels = (model: Model): Set<string> => {
  const { controller } = model.status.model
  const offering = Object.keys(model.status['application-endpoints']).flatMap((alias) => {
    const saas = saasNamed(model, alias)
    return (saas && modelOfOffer(saas.url, controller)) ?? []
  })
  const consuming = model.connections.map((one) => addressOn(controller, one.model))
  return new Set([...offering, ...consuming])
}
