import { CURRENT_QUEUE_SECTION, type Recipe, type SectionTemplate } from './recipe.ts';

const SECTIONS: readonly SectionTemplate[] = [
  {
    id: 'scorecard',
    title: 'Scorecard',
    why: 'The most important figures, on the first page. Those with a target in targets.yaml get a status.',
    layout: 'scorecard',
    metrics: [
      'profiles.created',
      'profiles.approval_rate',
      'profiles.time_to_decision_p50',
      'profiles.time_to_decision_p90',
    ],
    safe: true,
  },
  {
    id: 'onboarding',
    title: 'Onboarding by day',
    why: 'One row per day, with a line chart in the workbook and in the e-mail.',
    metrics: ['profiles.created', 'profiles.decided'],
    granularity: 'day',
    chart: 'line',
    safe: true,
  },
  {
    id: 'turnaround',
    title: 'Turnaround and approval',
    why: 'One row for individuals, one for entities. Medians and rates cannot be added up: the totals are the service’s own.',
    metrics: ['profiles.time_to_decision_p50', 'profiles.time_to_decision_p90', 'profiles.approval_rate'],
    dimensions: ['profile.type'],
    safe: true,
  },
  {
    id: 'screening',
    title: 'Screening hits by kind',
    why: 'The largest first.',
    metrics: ['screening.hits', 'screening.profiles_hit', 'screening.hits_resolved'],
    dimensions: ['hit.kind'],
    order: { by: 'screening.hits', dir: 'desc' },
    chart: 'column',
  },
  {
    id: 'alerts',
    title: 'Alerts',
    why: 'One row for the whole week.',
    metrics: ['alerts.created', 'alerts.closed', 'alerts.time_to_close_p50'],
    safe: true,
  },
  {
    id: 'rfis',
    title: 'Requests for information',
    why: 'One row for the whole week.',
    metrics: ['rfis.sent', 'rfis.answered', 'rfis.response_rate', 'rfis.response_time_p50'],
    safe: true,
  },
  CURRENT_QUEUE_SECTION,
];

export const WEEKLY_KPI: Recipe = {
  name: 'weekly-kpi',
  summary: 'the figures of the week before, Mondays at eight',
  title: 'Weekly compliance KPIs',
  file: 'Weekly KPIs',
  schedule: '{ cron: "0 8 * * MON", catch_up: latest }   # Mondays at eight, in the zone of org.yaml',
  period: 'previous_week',
  unit: 'weeks',
  compare: 'previous_period',
  sections: SECTIONS,
  formats: ['xlsx'],
};
