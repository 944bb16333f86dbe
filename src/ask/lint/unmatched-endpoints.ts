import { describeUnmatchedEndpoint, unmatchedEndpoints } from '../../core/relations/told/unmatched-endpoints.ts'
import type { State } from '../../core/state/state.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Found } from './finding.ts'

/** Reports endpoints that the config names and no relation has, and those that only a relation has. */
export const unmatchedEndpointFindings = (subject: Subject, state: State): Found[] =>
  unmatchedEndpoints(state).map((unknown) => ({
    rule: unknown.to === 'relations' ? 'endpoint-unknown' : 'endpoint-unnamed',
    about: subjectName(subject),
    message: describeUnmatchedEndpoint(unknown),
  }))
