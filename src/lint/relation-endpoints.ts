import { type Subject, subjectName } from '../base/subject.ts'
import { describeUnknownEndpoint, unknownEndpoints } from '../relations/endpoints.ts'
import type { State } from '../state/state.ts'
import type { Found } from './finding.ts'

/** Endpoints that the config names and no relation has. */
export const relationEndpointFindings = (subject: Subject, state: State): Found[] =>
  unknownEndpoints(state).map((unknown) => ({
    rule: 'endpoint-unknown',
    about: subjectName(subject),
    message: describeUnknownEndpoint(unknown),
  }))
