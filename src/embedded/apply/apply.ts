import { at, isEmptyValue, type Json, type JsonMap, type KubernetesObject, mapOf, withoutNulls } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Shape } from '../kinds/schema.ts'
import { applyConflict } from '../kinds/status.ts'
import { pathsOf } from './field-paths.ts'
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
import {
  isWriter,
  loseFields,
  type Owner,
  ownersAfterUpdate,
  ownersOf,
  tracked,
  type Writer,
} from './managed-fields.ts'

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

const described = ({ manager, operation, apiVersion, subresource }: Owner): string => {
  const sub = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`
  return JSON.stringify(manager) + sub + (operation === 'Update' ? ` using ${apiVersion}` : '')
}

type Conflict = { readonly owner: Owner; readonly paths: readonly string[] }

const conflictMessage = (conflicts: readonly Conflict[]): string => {
  const count = conflicts.reduce((sum, { paths }) => sum + paths.length, 0)
  const [first] = conflicts
  if (first && count === 1)
    return `Apply failed with 1 conflict: conflict with ${described(first.owner)}: ${first.paths[0]}`
  const parts = conflicts.map(({ owner, paths }) =>
    [`conflicts with ${described(owner)}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
  )
  return `Apply failed with ${count} conflicts: ${parts.join('\n')}`
}

/** Refuses to change fields of other owners. */
const refuseConflicts = (others: readonly Owner[], written: FieldSet | undefined): void => {
  const conflicts = others
    .map((owner) => ({ owner, paths: pathsOf(intersection(owner.fields, written) ?? {}) }))
    .filter(({ paths }) => paths.length > 0)
    .toSorted((a, b) => (described(a.owner) < described(b.owner) ? -1 : 1))
  if (conflicts.length === 0) return
  const causes = conflicts.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${described(owner)}`, field })),
  )
  throw applyConflict(conflictMessage(conflicts), causes)
}

/** Attributes an untracked object to a manager once, so that the first apply meets conflicts. */
const ownersBefore = (live: KubernetesObject | undefined, kind: Kind, apiVersion: string, time: string): Owner[] => {
  const owners = ownersOf(live)
  if (live === undefined || owners.length > 0) return owners
  const writer: Writer = { manager: 'before-first-apply', operation: 'Update', apiVersion }
  return ownersAfterUpdate({ before: kind.zero, after: live, kind }, [], { writer, time })
}

/** Metadata itself has no owner: applying an empty one owns nothing. */
const appliedFields = ({ metadata, ...others }: JsonMap, kind: Kind): FieldSet | undefined =>
  fieldsOf(metadata === undefined || isEmptyValue(metadata) ? others : { ...others, metadata }, kind.shape)

const OWNABLE = ['labels', 'annotations', 'finalizers', 'ownerReferences']

/** Keeps the name, the uid and their like: every apply has them by its path. */
const withIdentity = (pruned: Json | undefined, merged: Json | undefined): JsonMap => {
  const identity = Object.entries(mapOf(merged)).filter(([field]) => !OWNABLE.includes(field))
  return { ...Object.fromEntries(identity), ...mapOf(pruned) }
}

export type Applied = { readonly object: JsonMap; readonly owners: Owner[] }

/**
 * Merges `config` over the live object by server-side apply. Fields that the same manager applied before and nobody owns now are removed. Fields of other owners with another value are a 409, unless `force` takes them. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
export const serverSideApply = (
  { live, config, kind }: { live: KubernetesObject | undefined; config: JsonMap; kind: Kind },
  { writer, force, time }: { writer: Writer; force: boolean; time: string },
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
  if (!force) refuseConflicts(others, written)
  const left = loseFields(others, written, removed)
  const stamp = written || removed ? { time } : previous?.time === undefined ? {} : { time: previous.time }
  const self = fields === undefined ? [] : [{ ...writer, ...stamp, fields }]
  // An applied null is a value until here: to remove another owner's field with it is a conflict
  return { object: kind.custom ? object : (withoutNulls(object) as JsonMap), owners: [...left, ...self] }
}
