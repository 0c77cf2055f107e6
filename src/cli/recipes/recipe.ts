/** The reports that `docket new` and `docket init` can write. */
export const RECIPE_NAMES = ['weekly-kpi', 'board-pack', 'approved-pack', 'backlog', 'export'] as const;
export type RecipeName = (typeof RECIPE_NAMES)[number];

/** A section of a recipe, before it is limited to the catalog. */
export interface SectionTemplate {
  readonly id: string;
  readonly title: string;
  /** A comment in the file. */
  readonly why: string;
  readonly metrics: readonly string[];
  /** The metrics are current counts; others are left out. Absent: metrics of a period. */
  readonly current?: true;
  readonly dimensions?: readonly string[];
  readonly granularity?: 'day' | 'week' | 'month';
  /** Only if the catalog has the whole section. */
  readonly chart?: string;
  readonly order?: { readonly by: string; readonly dir: 'desc' };
  readonly toDate?: 'year';
  readonly layout?: 'scorecard';
  /** The run is held until somebody has commented it. */
  readonly commented?: true;
  /** Further fields, as a comment: not every organization has the figures. */
  readonly suggestion?: string;
  /** Every organization has its metrics (specification §2.6): used without a catalog. */
  readonly safe?: true;
}

/** A report that is adapted to an organization's catalog. */
export interface Recipe {
  readonly name: RecipeName;
  /** What it is for, in one line. */
  readonly summary: string;
  readonly title: string;
  /** Start of file names. */
  readonly file: string;
  /** YAML, with a comment. */
  readonly schedule: string;
  readonly period: string;
  /** Length of the period, for comments. */
  readonly unit: 'days' | 'weeks' | 'months';
  /** Absent: no comparison. */
  readonly compare?: 'previous_period';
  /** Nothing is sent before somebody has approved it. */
  readonly approved?: true;
  readonly sections: readonly SectionTemplate[];
  /** The files that it makes; the first is attached to the e-mail. `csv` alone is delivered into a folder if there is one. */
  readonly formats: readonly ('xlsx' | 'csv')[];
}

/** Of all recipes: the state now. */
export const CURRENT_QUEUE_SECTION: SectionTemplate = {
  id: 'queue',
  title: 'Queue now',
  why: 'Current counts at the time of the report. They have no granularity, and do not depend on the period.',
  metrics: [
    'profiles.pending_review',
    'reviews.overdue',
    'alerts.open',
    'alerts.unassigned',
    'rfis.open',
    'rfis.overdue',
  ],
  current: true,
  safe: true,
};
