/** The types of conditions, from worst to best: Juju's words for the status of an application that follows from them. */
export const CONDITION_TYPES = ['Error', 'Blocked', 'Maintenance', 'Waiting'] as const

/** The reasons of conditions. docs/errors.md says of each what it means, and what to do. */
export const REASONS = [
  ...[
    'AccountNotGranted',
    'AddressesLate',
    'ConfigUnknown',
    'DataUnserved',
    'DependsOnRefused',
    'DocumentRefused',
    'Due',
  ],
  ...['ExpectationUnmet', 'FieldHeld', 'IdTaken', 'IdentityUnknown', 'KindUnserved', 'LabelHeld', 'LabelOverruled'],
  ...[
    'LabelRefused',
    'LibraryPolicyKept',
    'MemoryLost',
    'MemoryOfLibrary',
    'NameTaken',
    'NamespaceUndiscovered',
    'NoLeader',
    'NoRoom',
  ],
  ...['NoUnits', 'NoVersionInCommon', 'NotEnforced', 'NotFound', 'NotReady', 'NotTaken', 'OffersNoLabels'],
  ...[
    'PeerDataUnknown',
    'PeerLags',
    'PeerOnMesh',
    'PodsOffMesh',
    'PodsOnMesh',
    'PodsUnavailable',
    'PodsUnlabelled',
    'PodsUnselected',
  ],
  ...[
    'Refused',
    'Reported',
    'RolloutIncomplete',
    'RootNamespaceWrong',
    'ServiceUnguarded',
    'Slowed',
    'SpecRefused',
    'WorkloadFailing',
  ],
] as const
export type Reason = (typeof REASONS)[number]

/**
 * Something that is open at an application, in the form of Kubernetes' conditions
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 * An application without conditions is ready. There may be several of one type, about different objects.
 */
export type Condition = {
  readonly type: (typeof CONDITION_TYPES)[number]
  readonly status: 'True'
  readonly reason: Reason
  /** The object or relation that it is about: `StatefulSet shop/db`, `relation 7 (service-mesh)`. */
  readonly object: string
  /** Those that must act: applications, `Istio`, `pods`, or missing objects. Absent where a person must. */
  readonly for?: readonly string[]
  /** The time of its begin (RFC 3339), if known. */
  readonly since?: string
  /** A sentence for people: what is open, for whom, and what ends it. */
  readonly message: string
}

/** Makes the condition of something for which nobody in particular is waited. */
export const condition = (type: Condition['type'], reason: Reason, object: string, message: string): Condition => ({
  ...{ type, status: 'True', reason, object, message },
})

/** Makes the condition of something that is held back, or kept as it is, until others act. */
export const waitFor = (
  others: readonly string[],
  reason: Reason,
  object: string,
  message: string,
): Condition & { for: readonly string[] } => ({ ...condition('Waiting', reason, object, message), for: others })

/** Prints a condition as a sentence with its begin. */
export const describeCondition = ({ message, since }: Pick<Condition, 'message' | 'since'>): string =>
  since === undefined ? message : `${message} (since ${since})`
