import type { Subject } from '../base/subject.ts'
import { Enforcement } from '../istio/config.ts'
import { read } from '../relations/databag.ts'
import { relationsWith } from '../relations/select.ts'
import { requesterName } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'

/** How a consumer tells its beacon that what it asks for is not to be enforced yet. */
export const enforcementDatabag = ({ config }: EffectiveState): Record<string, string> =>
  config?.enforcement === 'audit' ? { enforcement: '"audit"' } : {}

/** Who of an application's requesters is audited: everybody where its own config says so, else those that ask for it themselves. */
export const auditedRequesters = (
  subject: Subject,
  { config, relations }: EffectiveState,
): 'all' | readonly string[] => {
  if ((config?.mesh?.enforcement ?? config?.enforcement) === 'audit') return 'all'
  return relationsWith(relations, { interface: 'service_mesh', role: 'provides' })
    .filter(({ remote }) => {
      const told = read(remote.data, 'enforcement', Enforcement)
      return 'value' in told && told.value === 'audit'
    })
    .map((relation) => requesterName(subject, relation))
}
