import { ownValue } from '../base/own-value.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'

/** https://istio.io/latest/docs/reference/config/annotations/#SecurityAuthorizationPolicyDryRun */
export const DRY_RUN = 'istio.io/dry-run'

/** What Go's strconv.ParseBool takes for true; Istio takes everything else for false. */
const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True']

const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False']

/** Whether the annotation can be read at all; Istio refuses an object with another one. */
export const isDryRunValue = (value: string): boolean => [...TRUE, ...FALSE].includes(value)

/** Whether a policy only logs what it would do. */
export const isDryRun = ({ metadata }: Pick<KubernetesObject, 'metadata'>): boolean =>
  TRUE.includes(ownValue(metadata.annotations, DRY_RUN) ?? '')
