import { readValue } from '../../core/relations/databags/databag.ts'
import { requesterName } from '../../core/relations/requester-names.ts'
import { relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { Enforcement } from '../../mesh/istio/beacon-config.ts'
import type { Subject } from '../../platform/base/subject.ts'

/** The entry in a consumer's databag that requests dry runs from its beacon. */
export const enforcementDatabag = ({ config }: EffectiveState): Record<string, string> =>
  config?.enforcement === 'audit' ? { enforcement: '"audit"' } : {}

/** Lists the requesters whose policies are dry runs: all if the application's own config says so, else those that request it. */
export const auditedRequesters = (
  subject: Subject,
  { config, relations }: EffectiveState,
): 'all' | readonly string[] => {
  if ((config?.mesh?.enforcement ?? config?.enforcement) === 'audit') return 'all'
  return relationsWith(relations, { interface: 'service_mesh', role: 'provides' })
    .filter(({ remote }) => {
      const told = readValue(remote.data, 'enforcement', Enforcement)
      return 'value' in told && told.value === 'audit'
    })
    .map((relation) => requesterName(subject, relation))
}
