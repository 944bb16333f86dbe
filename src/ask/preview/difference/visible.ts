import { perObject } from '../../../platform/base/per-object.ts'
import { sideName } from '../../authorization/side.ts'
import type { Class } from './classes.ts'
import type { Client } from './clients.ts'
import type { Found } from './difference.ts'

/** Tells if the asker may see an application, or a whole namespace. */
export type Sees = (about: { readonly namespace: string; readonly application?: string }) => Promise<boolean>

/** The limit of applications that are checked one by one, if the asker may not see their whole namespace. */
const MOST_ASKED = 500

/** Leaves out targets and clients that the asker may not see. `isHidden` tells if a left-out change is a certain or possible loss of access. */
export const visibleChanges = async (
  sees: Sees | undefined,
  found: readonly Found[],
): Promise<{ found: readonly Found[]; isHidden: boolean }> => {
  if (sees === undefined) return { found, isHidden: false }
  const clients = new Set(found.flatMap(({ who }) => who.flatMap(({ some }) => some)))
  const targets = new Map(found.map(({ to }) => [sideName(to), to]))
  const spaces = new Map<string, boolean>()
  for (const namespace of new Set([...[...targets.values(), ...clients].map((one) => one.namespace)]))
    spaces.set(namespace, namespace === '' || (await sees({ namespace })))
  const apart = [...targets.values(), ...[...clients].flatMap(({ subject }) => subject ?? [])]
  const asked = [...new Map(apart.map((one) => [sideName(one), one])).values()].filter(
    ({ namespace }) => !spaces.get(namespace),
  )
  const seen = new Set<string>()
  for (const one of asked.slice(0, MOST_ASKED)) if (await sees(one)) seen.add(sideName(one))
  const isSeen = ({ namespace, name = '' }: Pick<Client, 'namespace' | 'name'>) =>
    spaces.get(namespace) === true || seen.has(name)
  const cut = createCut(isSeen)
  const shown = found.flatMap((one) => {
    const who = isSeen({ namespace: one.to.namespace, name: sideName(one.to) }) ? one.who.flatMap(cut) : []
    return who.length > 0 ? [{ ...one, who }] : []
  })
  const sum = (some: readonly Found[]) =>
    some.filter(isLoss).reduce((total, { who }) => total + who.reduce((all, one) => all + one.some.length, 0), 0)
  return { found: shown, isHidden: sum(shown) < sum(found) }
}

const isLoss = ({ change: { before, after } }: Found): boolean => before !== 'denied' && after !== 'allowed'

/** Reduces classes to the visible clients. A reduced group stays the same object for all of its classes. */
const createCut = (isSeen: (client: Client) => boolean) => {
  const cutOf = perObject((some: readonly Client[]): readonly Client[] => some.filter(isSeen))
  return ({ group, some, except }: Class): Class[] => {
    const left = { group: cutOf(group), some: cutOf(some), except: new Set([...except].filter(isSeen)) }
    const example = left.some.find((one) => !left.except.has(one))
    return example ? [{ ...left, example }] : []
  }
}
