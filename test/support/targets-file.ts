/** A `targets.yaml`: a ratio, a count per week, and a duration of one group. */
export const TARGETS = `version: 1
targets:
  - metric: profiles.approval_rate
    better: higher
    target: 90%
    watch: 85%
    from: 2026-07-01
    owner: mlro@acme.example
  - metric: profiles.created
    per: week
    better: higher
    target: 100
  - metric: profiles.time_to_decision_p50
    where: { profile.risk: high }
    better: lower
    target: 24h
    watch: 36h
`;
