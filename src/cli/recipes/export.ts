import type { Recipe } from './recipe.ts';

/** Raw values for programs. */
export const EXPORT: Recipe = {
  name: 'export',
  summary: 'raw values of the day before as CSV for programs, daily at five',
  title: 'Compliance figures',
  file: 'Figures',
  schedule: '{ cron: "0 5 * * *", catch_up: all }    # every day at five, in the zone of org.yaml',
  period: 'previous_day',
  unit: 'days',
  sections: [
    {
      id: 'daily',
      title: 'Figures by day',
      why: 'One row a day. Backfill earlier days with `docket backfill`.',
      metrics: [
        'profiles.created',
        'profiles.decided',
        'alerts.created',
        'alerts.closed',
        'rfis.sent',
        'rfis.answered',
        'screening.hits',
      ],
      granularity: 'day',
      safe: true,
    },
    {
      id: 'groups',
      title: 'Onboarding by group',
      why: 'Ratios are from 0 to 1, durations in seconds.',
      metrics: ['profiles.created', 'profiles.decided', 'profiles.approval_rate', 'profiles.time_to_decision_p50'],
      dimensions: ['profile.group'],
      safe: true,
    },
    {
      id: 'risks',
      title: 'Onboarding by risk and type',
      why: 'Two dimensions, which is the most: one row for each pair.',
      metrics: ['profiles.created', 'profiles.decided', 'profiles.approval_rate'],
      dimensions: ['profile.risk', 'profile.type'],
      safe: true,
    },
    {
      id: 'backlog',
      title: 'Backlog by group',
      why: 'Current counts at the time of the run.',
      metrics: ['profiles.pending_review', 'reviews.overdue', 'rfis.open', 'rfis.overdue'],
      dimensions: ['profile.group'],
      current: true,
      safe: true,
    },
  ],
  formats: ['csv'],
};
