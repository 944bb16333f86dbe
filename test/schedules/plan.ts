import { type Ability, drawAbilities, drawConfig } from './abilities.ts'
import { NEVER_AT_ONCE } from './excluded.ts'
import type { Fact, Form, Order } from './facts.ts'
import {
  ALIAS,
  apart,
  clientRelation,
  clusterRelation,
  meshRelation,
  NAMESPACE,
  namespaceOf,
  namingRelation,
  type Relation,
  sidesOf,
  terse,
  type Variant,
} from './fixture.ts'
import type { Meddling } from './meddling.ts'
import { createRandom, type Random } from './random.ts'
import { createSurroundings, PLAIN, type Surroundings } from './surroundings.ts'

/** What happens in a history, and how often things may go wrong. */
export type Plan = Surroundings & {
  variant: Variant
  abilities: ReadonlySet<Ability>
  meddling: ReadonlySet<Meddling>
  order: Order
  facts: readonly Fact[]
  /** How many of the first facts are told one after another, without faults, before the race. */
  calm: number
  /** Names the calm facts, where other histories begin with the same ones. */
  beginning?: number
  /** Whether pods outlive a change of their template, until they are replaced at some moment. */
  isRolling: boolean
  /** Milliseconds by which clocks may be apart. */
  skew: number
  /** By how many milliseconds the clock of whoever tells a side is ahead. */
  offsets: Readonly<Record<string, number>>
  crashes: number
  losses: number
  doubles: number
  /** How many calls fail on the way. */
  disturbances: number
  /** How many processes run at once. */
  atOnce: number
  /** How likely the actor that made a call makes the next one, too. */
  patience: number
  /** How likely each event comes once more in the end, where nothing was lost. */
  again: number
  /** Whether resyncs at the end have to write nothing. */
  isQuiet: boolean
}

/** What does nothing by itself. */
export const STILL: Omit<Plan, 'variant' | 'order'> = {
  ...PLAIN,
  facts: [],
  abilities: new Set(),
  meddling: new Set(),
  calm: 0,
  isRolling: false,
  skew: 0,
  offsets: {},
  crashes: 0,
  losses: 0,
  doubles: 0,
  disturbances: 0,
  atOnce: 1,
  patience: 1,
  again: 1,
  isQuiet: true,
}

/** How a history tells each thing: facts about one thing keep their form, and where it matters their side. */
type Style = {
  formOf(about: string, random: Random): Form
  sideOf(relation: Relation, random: Random): string
  /** The relations that stand as the facts so far have it, by id. */
  standing: Map<number, Relation>
  isForgetful: boolean
  isRemoving: boolean
  abilities: ReadonlySet<Ability>
}

const MESH = [meshRelation(1, 'details'), meshRelation(11, 'details'), meshRelation(2, 'productpage')]
const CLIENTS = [clientRelation(3, 'productpage'), clientRelation(3, 'reviews'), clientRelation(13, 'productpage')]
/** What there is with a second beacon, and with more workers and a coordinator to change to. */
const MORE = {
  'other models': {
    mesh: ['orders', ALIAS.name].flatMap((client, index) => [
      clientRelation(23 + index, client),
      namingRelation(33 + index, client),
    ]),
    chain: [],
  },
  'second beacon': {
    mesh: [meshRelation(21, 'details', 'lantern')],
    chain: [meshRelation(21, 'tempo', 'lantern')],
  },
  workers: {
    mesh: [],
    chain: [clusterRelation(25, 'ingester'), clusterRelation(35, 'querier', 'mimir'), meshRelation(31, 'mimir')],
  },
} as const
const MORE_SIDES = { 'other models': [], 'second beacon': ['lantern'], workers: ['mimir', 'ingester'] } as const

/** The ids of the relations of which one takes the place of the other. */
const MOVES = { 'second beacon': [[1, 21]], workers: [[5, 35]], 'other models': [] } as const

/** The abilities that bring relations with them. */
const bringing = (abilities: ReadonlySet<Ability>): (keyof typeof MORE)[] =>
  (['second beacon', 'workers', 'other models'] as const).filter((ability) => abilities.has(ability))

const CHAIN = [meshRelation(1, 'tempo'), clusterRelation(5), clusterRelation(15), meshRelation(11, 'tempo')]

/** An alias is in the namespace of whom it is told to, but nobody there. */
const isOfOtherModel = ({ requirer: { application } }: Relation): boolean =>
  application === ALIAS.name || namespaceOf(application) !== NAMESPACE

const createStyle = (random: Random, variant: Variant): Style => {
  const forms = new Map<string, Form>()
  const roles = new Map<number, 'provider' | 'requirer'>()
  const isRemoving = random.chance(0.2)
  // a removal by a document, and what it ends of the words of events: nobody could say which of them is the later one
  const documents = random.pick(isRemoving ? [0, 0, 1] : [0, 0, 0.3, 1])
  return {
    isRemoving,
    isForgetful: random.chance(0.25),
    abilities: drawAbilities(random, variant),
    standing: new Map(),
    formOf: (about, random) => {
      const form = forms.get(about) ?? (random.chance(documents) ? 'document' : 'event')
      forms.set(about, form)
      return form
    },
    // an application's document stays its own
    sideOf: (relation, random) => {
      const { id } = relation
      const isFixed = forms.get(`relation/${id}`) === 'document'
      const role = (isFixed && roles.get(id)) || random.pick(['provider', 'requirer'] as const)
      // what another model says of a relation with it counts for nothing
      if (isOfOtherModel(relation)) return relation.provider.application
      roles.set(id, role)
      return relation[role].application
    },
  }
}

const configFact = (random: Random, style: Style, kind: 'config' | 'removed', side: string): Fact => {
  const config = kind === 'config' ? drawConfig(random, style.abilities, side) : undefined
  return { kind, side, form: style.formOf(`config/${side}`, random), ...(config && { config }) }
}

/** What is said of a relation to one side, or to both. */
const speak = (random: Random, style: Style, kind: 'told' | 'ended', relation: Relation): Fact[] => {
  const form = style.formOf(`relation/${relation.id}`, random)
  const side = style.sideOf(relation, random)
  const isNear = form === 'event' && !isOfOtherModel(relation)
  // across namespaces each side's word counts for itself; who says what it is called has to be told
  const isBoth = relation.interface === 'cross_model_mesh' || (isNear && (relation.isTerse || random.chance(0.3)))
  return (isBoth ? sidesOf(relation) : [side]).map((one) => ({ kind, relation, side: one, form }))
}

const end = (random: Random, style: Style, relation: Relation): Fact[] => {
  const known = style.standing.get(relation.id) ?? relation
  style.standing.delete(relation.id)
  return speak(random, style, 'ended', known)
}

const isRival = ({ id }: Relation, others: readonly Relation[]): boolean =>
  NEVER_AT_ONCE.some((ids) => ids.includes(id) && others.some((other) => other.id !== id && ids.includes(other.id)))

/** An id is given to another remote application only after it was taken from the one before. */
const tell = (random: Random, style: Style, relation: Relation): Fact[] => {
  const before = style.standing.get(relation.id)
  const rivals = NEVER_AT_ONCE.filter((ids) => ids.includes(relation.id))
    .flat()
    .flatMap((id) => (id === relation.id ? [] : (style.standing.get(id) ?? [])))
  const gone = [...(before === undefined || before === relation ? [] : [before]), ...rivals]
  const ended = gone.flatMap((one) => end(random, style, one))
  style.standing.set(relation.id, relation)
  return [...ended, ...speak(random, style, 'told', relation)]
}

/** A consumer moves from one beacon to the other, or a worker to another coordinator: for a while it has both, or neither. */
const move = (random: Random, style: Style, relations: readonly Relation[], between: readonly number[]): Fact[] => {
  const [from, to] = random.shuffle(between).map((id) => relations.filter((relation) => relation.id === id))
  return random
    .shuffle([() => to?.map((one) => tell(random, style, one)), () => from?.map((one) => end(random, style, one))])
    .flatMap((say) => say()?.flat() ?? [])
}

/** A relation ends, is told, or both. */
const change = (random: Random, style: Style, relation: Relation): Fact[] => {
  if (random.chance(0.35)) return [...end(random, style, relation), ...tell(random, style, relation)]
  return random.chance(0.55) ? end(random, style, relation) : tell(random, style, relation)
}

const addFacts = (random: Random, style: Style, relations: readonly Relation[], sides: readonly string[]): Fact[] => {
  const draw = random.number()
  if (style.isForgetful && draw < 0.3) return [{ kind: 'forgotten', side: random.pick(sides) }]
  if (style.isRemoving && draw < 0.35) {
    const side = random.pick(sides)
    const removed = configFact(random, style, 'removed', side)
    return random.chance(0.75) ? [removed, configFact(random, style, 'config', side)] : [removed]
  }
  if (draw > (style.abilities.size > 0 ? 0.6 : 0.93)) return [configFact(random, style, 'config', random.pick(sides))]
  const moves = bringing(style.abilities).flatMap((ability): readonly (readonly number[])[] => MOVES[ability])
  if (moves.length > 0 && random.chance(0.4)) return move(random, style, relations, random.pick(moves))
  return change(random, style, random.pick(relations))
}

/** What a history is about, and the facts with which it begins, those that belong together in one list. */
type Beginning = Pick<Plan, 'variant' | 'order' | 'skew' | 'offsets'> & {
  style: Style
  sides: readonly string[]
  relations: readonly Relation[]
  facts: readonly (readonly Fact[])[]
}

const createBeginning = (random: Random): Beginning => {
  const variant = random.chance(0.2) ? 'chain' : 'mesh'
  const style = createStyle(random, variant)
  const sides = sidesOfPlan({ variant, abilities: style.abilities })
  const rename = random.pick([apart, terse, ...Array.from({ length: 6 }, () => undefined)])
  const named = (relations: readonly Relation[]) =>
    rename === undefined ? relations : relations.map((one) => (isOfOtherModel(one) ? apart(one) : rename(one)))
  const pool = variant === 'chain' ? named(CHAIN) : named([...MESH, ...CLIENTS])
  const relations = variant === 'chain' ? pool.slice(0, 2) : [...pool.slice(0, 1), random.pick(pool.slice(MESH.length))]
  const more = named(bringing(style.abilities).flatMap((ability): readonly Relation[] => MORE[ability][variant]))
  const facts = [
    ...sides.map((side) => [configFact(random, style, 'config', side)]),
    ...relations.map((relation) => tell(random, style, relation)),
    // whatever the beginning tells comes in any order, and so none that takes the place of another
    ...more.filter((one) => random.chance(0.5) && !isRival(one, relations)).map((one) => tell(random, style, one)),
  ]
  // no rule mends a memory that was lost, or an application that was removed, where nothing says which word is the later one
  const orders: Order[] = style.isForgetful || style.isRemoving ? ['time', 'sequence'] : ['time', 'sequence', 'none']
  const skew = random.pick([0, 0, 500, 3_000])
  const order = random.pick(orders)
  const ahead = random.pick([0, skew])
  const offsets = Object.fromEntries(ALL_SIDES.map((side) => [side, skew === 0 ? 0 : ahead - random.below(skew)]))
  const isReusing = !random.chance(0.7)
  return {
    variant,
    order,
    skew,
    // an end before what it ended is none, and then two relations would stand with one id
    offsets: isReusing && variant === 'mesh' ? {} : offsets,
    style,
    sides,
    relations: [...(isReusing ? pool : relations), ...more],
    facts: random.shuffle(facts),
  }
}

/** Whom the platform configures in a history. */
export const sidesOfPlan = ({ variant, abilities }: Pick<Plan, 'variant' | 'abilities'>): string[] => [
  'beacon',
  ...(variant === 'chain' ? ['tempo', 'querier'] : ['details']),
  ...bringing(abilities).flatMap((ability) => MORE_SIDES[ability]),
]

/** Everybody who may have a side of a relation. */
export const ALL_SIDES = [
  'beacon',
  'lantern',
  'details',
  'productpage',
  'reviews',
  'orders',
  'tempo',
  'querier',
  'mimir',
  'ingester',
]

/** How many calm beginnings there are: so few that each is worked out once and used by many histories. */
const BEGINNINGS = 800

/** A short history races a few facts, after a calm beginning or from nothing; a long one races everything. */
type Size = 'short' | 'first' | 'long'

const SIZES: readonly Size[] = ['short', 'short', 'short', 'short', 'short', 'short', 'first', 'long']

const factsOf = (
  random: Random,
  size: Size,
  { style, sides, relations, facts }: Beginning,
): Pick<Plan, 'facts' | 'calm'> => {
  const more = (count: number) => Array.from({ length: count }, () => addFacts(random, style, relations, sides)).flat()
  // a worker without a config is not looked at, and whoever moves to a beacon without one stays as it is until that one has it
  const least = ['querier', 'lantern'].some((side) => sides.includes(side)) ? facts.length : 2
  if (size === 'first')
    return { facts: [...facts.slice(0, least + random.below(3)).flat(), ...more(random.below(2))], calm: 0 }
  const first = facts.flat()
  if (size === 'short') return { facts: [...first, ...more(1 + random.below(2))], calm: first.length }
  return { facts: [...first, ...more(1 + random.below(3))], calm: random.chance(0.2) ? first.length : 0 }
}

/** A small history of the configs, one or two relations, and up to three things more. */
export const createPlan = (random: Random): Plan => {
  const size = random.pick(SIZES)
  const beginning = random.below(BEGINNINGS)
  const isShared = size === 'short'
  const begun = createBeginning(isShared ? createRandom(beginning) : random)
  const { variant, order, skew, offsets } = begun
  return {
    ...{ variant, order, skew, offsets },
    abilities: begun.style.abilities,
    meddling: new Set(),
    ...factsOf(random, size, begun),
    ...(isShared && { beginning }),
    isRolling: isShared && beginning % 4 === 0,
    crashes: random.pick([0, 1, 1, 2]),
    losses: random.pick([0, 0, 1, 2]),
    doubles: random.pick([0, 0, 1]),
    atOnce: random.pick([1, 2, 3]),
    patience: random.pick([0.5, 0.8, 0.95]),
    again: size === 'long' ? 1 : random.pick([0, 0.2, 0.5]),
    isQuiet: random.chance(1 / 8),
    ...createSurroundings(random),
    disturbances: random.pick([0, 0, 0, 6]),
  }
}
