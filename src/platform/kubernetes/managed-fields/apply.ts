import { at, isEmptyValue, type Json, type JsonMap, mapOf, withoutNulls } from '../../base/json.ts'
import {
  difference,
  type FieldSet,
  fieldsOf,
  intersection,
  isLeaf,
  type OwnedPart,
  ownedParts,
  prune,
  unionFields,
} from './field-set.ts'
import type { StoredObject } from './object.ts'
import {
  type Applicable,
  isWriter,
  loseFields,
  type Owner,
  ownersAfterUpdate,
  ownersOf,
  tracked,
  type Writer,
} from './owners.ts'
import type { Shape } from './shape.ts'

/** Orders shared items as in `config`; items of the live list alone stay before the shared one they preceded. */
const mergeLists = (live: readonly OwnedPart[], config: readonly OwnedPart[]): Json[] => {
  const applied = new Set(config.map(({ element }) => element))
  const previous = new Map(live.map(({ element, value }) => [element, value]))
  const merged: Json[] = []
  const [left, wanted] = [[...live], [...config]]
  while (left.length + wanted.length > 0) {
    const [old] = left
    const [next] = wanted
    const nextShared = wanted.find(({ element }) => previous.has(element))
    if (old && !applied.has(old.element)) merged.push(old.value)
    else if (next && (old === undefined || old.element === nextShared?.element)) {
      merged.push(merge(previous.get(next.element), next.value, next.shape))
      wanted.shift()
      if (old?.element !== next.element) continue
    }
    left.shift()
  }
  return merged
}

/** Merges the applied value over the live one. */
const merge = (live: Json | undefined, config: Json, shape: Shape | undefined): Json => {
  if (live === undefined || live === null || isLeaf(live, shape)) return config
  // null in place of a live map or list is one without members
  if (config === null) return live
  if (isLeaf(config, shape)) return config
  if (Array.isArray(config)) return mergeLists(ownedParts(live, shape), ownedParts(config, shape))
  const merged: JsonMap = { ...(live as JsonMap) }
  for (const { element, value, shape: inner } of ownedParts(config, shape)) {
    const key = element.slice(2)
    merged[key] = merge(at(merged, key), value, inner)
  }
  return merged
}

/** Attributes an untracked object to a manager once, so that the first apply meets conflicts. */
const ownersBefore = (live: StoredObject | undefined, kind: Applicable, apiVersion: string, time: string): Owner[] => {
  const owners = ownersOf(live)
  if (live === undefined || owners.length > 0) return owners
  const writer: Writer = { manager: 'before-first-apply', operation: 'Update', apiVersion }
  return ownersAfterUpdate({ before: kind.zero, after: live, kind }, [], { writer, time })
}

/** Metadata itself has no owner: applying an empty one owns nothing. */
const appliedFields = ({ metadata, ...others }: JsonMap, kind: Applicable): FieldSet | undefined =>
  fieldsOf(metadata === undefined || isEmptyValue(metadata) ? others : { ...others, metadata }, kind.shape)

const OWNABLE = ['labels', 'annotations', 'finalizers', 'ownerReferences']

/** Keeps the name, the uid and their like: every apply has them by its path. */
const withIdentity = (pruned: Json | undefined, merged: Json | undefined): JsonMap => {
  const identity = Object.entries(mapOf(merged)).filter(([field]) => !OWNABLE.includes(field))
  return { ...Object.fromEntries(identity), ...mapOf(pruned) }
}

/** Fields of another owner that the config changes. */
export type Conflict = { readonly owner: Owner; readonly fields: FieldSet }

export type Applied = {
  readonly object: JsonMap
  readonly owners: Owner[]
  /** The API server refuses an apply with conflicts, unless it is forced. */
  readonly conflicts: readonly Conflict[]
}

/**
 * Merges `config` over the live object by server-side apply. Fields that the same manager applied before and nobody owns now are removed. Fields of other owners with
 * another value are conflicts, and belong to the writer. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
export const serverSideApply = (
  { live, config, kind }: { live: StoredObject | undefined; config: JsonMap; kind: Applicable },
  { writer, time }: { writer: Writer; time: string },
): Applied => {
  const owners = ownersBefore(live, kind, writer.apiVersion, time)
  const previous = owners.find((owner) => isWriter(owner, writer))
  const others = owners.filter((owner) => owner !== previous)
  const fields = appliedFields(tracked(config, kind, writer.subresource), kind)
  const owned = others.reduce((sum, owner) => unionFields(sum, owner.fields), fields)
  const merged = merge(live ?? {}, config, kind.shape)
  const pruned = mapOf(prune(merged, previous?.fields, owned, kind.shape))
  const object = { ...pruned, metadata: withIdentity(pruned.metadata, mapOf(merged).metadata) }
  const old = tracked(live ?? kind.zero, kind, writer.subresource)
  const next = tracked(object, kind, writer.subresource)
  const written = difference(old, next, kind.shape, true)
  const removed = difference(next, old, kind.shape, false)
  const conflicts = others.flatMap((owner) => {
    const fields = intersection(owner.fields, written)
    return fields === undefined ? [] : [{ owner, fields }]
  })
  const left = loseFields(others, written, removed)
  const stamp = written || removed ? { time } : previous?.time === undefined ? {} : { time: previous.time }
  const self = fields === undefined ? [] : [{ ...writer, ...stamp, fields }]
  // An applied null is a value until here: to remove another owner's field with it is a conflict
  const content = kind.custom ? object : (withoutNulls(object) as JsonMap)
  return { object: content, owners: [...left, ...self], conflicts }
}
