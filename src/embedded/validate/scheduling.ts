import { listOf } from '../kinds/json.ts'
import { invalidValue, required } from './errors.ts'
import {
  holds,
  isMissing,
  items,
  labelKey,
  members,
  needed,
  oneOf,
  optional,
  type Rule,
  requiredOneOf,
} from './rules.ts'
import { labelSelector, nodePreference, nodeSelector } from './selector-object.ts'

/** The errors of the constraints on how pods are spread. */
export const spread: Rule = items(
  members({
    maxSkew: holds((value) => Number(value ?? 0) > 0, 'must be greater than zero'),
    topologyKey: needed(undefined, 'can not be empty'),
    whenUnsatisfiable: requiredOneOf('DoNotSchedule', 'ScheduleAnyway'),
    labelSelector,
  }),
)

const weight = holds((value) => Number(value) >= 1 && Number(value) <= 100, 'must be in the range 1-100')

const needs = 'requiredDuringSchedulingIgnoredDuringExecution'
const wishes = 'preferredDuringSchedulingIgnoredDuringExecution'

const podTerm = members({
  labelSelector,
  namespaceSelector: labelSelector,
  topologyKey: (value, field) => [...needed(undefined, 'can not be empty')(value, field), ...labelKey(value, field)],
})

const nodeTerms: Rule = (value, field) =>
  listOf(value).length === 0
    ? [required(field, 'must have at least one node selector term')]
    : items(nodeSelector)(value, field)

const pods = members({ [needs]: items(podTerm), [wishes]: items(members({ weight, podAffinityTerm: podTerm })) })

/** The errors of what a pod wants of nodes and of other pods. */
export const affinity: Rule = members({
  nodeAffinity: members({
    [needs]: optional(members({ nodeSelectorTerms: nodeTerms })),
    [wishes]: items(members({ weight, preference: nodePreference })),
  }),
  podAffinity: pods,
  podAntiAffinity: pods,
})

/** The errors of the taints that a pod tolerates. */
export const tolerations: Rule = items(({ key, operator, value, effect, tolerationSeconds }, field) => [
  ...optional(labelKey)(key, `${field}.key`),
  ...(isMissing(key) && operator !== 'Exists'
    ? [
        invalidValue(
          `${field}.operator`,
          operator ?? '',
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      ]
    : []),
  ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
    ? [invalidValue(`${field}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set")]
    : []),
  ...(operator === 'Exists' && !isMissing(value)
    ? [invalidValue(`${field}.operator`, value, "value must be empty when `operator` is 'Exists'")]
    : []),
  ...oneOf('Equal', 'Exists')(operator, `${field}.operator`),
  ...oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute')(effect, `${field}.effect`),
])
