/** All metric ids of specification §2.6, by area. */
export const METRIC_IDS = {
  Profiles: [
    'profiles.created',
    'profiles.decided',
    'profiles.approval_rate',
    'profiles.time_to_decision_p50',
    'profiles.time_to_decision_p90',
    'profiles.pending_review',
  ],
  Cohorts: ['cohort.completion_rate', 'cohort.turnaround_p50', 'cohort.turnaround_p90'],
  Screening: [
    'screening.hits',
    'screening.profiles_hit',
    'screening.hits_resolved',
    'screening.address_runs',
    'screening.address_failure_rate',
  ],
  'Blockchain addresses': [
    'blockchain_addresses.added',
    'blockchain_addresses.by_risk',
    'blockchain_addresses.screened',
    'blockchain_addresses.cannot_be_screened',
    'blockchain_addresses.risk_rose',
    'blockchain_addresses.time_to_first_screening_p50',
  ],
  'Intake forms': [
    'intake.submissions',
    'intake.invitations_sent',
    'intake.completion_rate',
    'intake.time_to_submit_p50',
    'intake.held_duplicates',
  ],
  'Transaction alerts': [
    'transaction_alerts.received',
    'transaction_alerts.closed',
    'transaction_alerts.time_to_decide_p50',
    'transaction_alerts.override_rate',
  ],
  Alerts: ['alerts.created', 'alerts.closed', 'alerts.time_to_close_p50', 'alerts.open'],
  RFIs: ['rfis.sent', 'rfis.answered', 'rfis.response_rate', 'rfis.response_time_p50', 'rfis.open', 'rfis.overdue'],
  'Workload and SLAs': ['alerts.unassigned', 'reviews.overdue'],
} as const;
