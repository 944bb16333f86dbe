import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** https://istio.io/latest/docs/reference/config/annotations/#SecurityAuthorizationPolicyDryRun */
export const DRY_RUN = 'istio.io/dry-run'

/** Values that Go's strconv.ParseBool reads as true. Istio reads all others as false. */
const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True']

const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False']

/** Tells if the annotation's value is valid. Istio refuses an object with another value. */
export const isDryRunValue = (value: string): boolean => [...TRUE, ...FALSE].includes(value)

/** Tells if proxies only log the policy. */
export const isDryRun = ({ metadata }: Pick<KubernetesObject, 'metadata'>): boolean =>
  TRUE.includes(ownValue(metadata.annotations, DRY_RUN) ?? '')
