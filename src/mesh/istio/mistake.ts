/** A part of a policy that has no effect, or an unexpected one. `says` describes the effect, with the policy as subject. */
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
