/** A part of a policy that has no effect, or another than expected: what kind of mistake it is, and what happens, as of the policy. */
export type PolicyMistake = {
  readonly id:
    | 'allow-on-tcp'
    | 'deny-on-tcp'
    | 'http-without-waypoint'
    | 'policy-ineffective'
    | 'principal-malformed'
    | 'principal-spiffe'
    | 'selects-all'
    | 'target-outside-namespace'
    | 'trust-domain-unseen'
    | 'value-unmatched'
    | 'wildcard-literal'
  readonly says: string
}

export const mistakeIf = (applies: boolean | undefined, id: PolicyMistake['id'], says: string): PolicyMistake[] =>
  applies ? [{ id, says }] : []
