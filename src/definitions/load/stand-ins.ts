import type { StandIns } from '../yaml/check-schema.ts';
import type { ValuePath } from '../yaml/source-file.ts';

/**
 * Valid values for required fields that are missing or invalid, so that the rest of the file can be checked. They are never
 * shown or used; what a check says about them is dropped.
 */
const of =
  (values: Readonly<Record<string, unknown>>): StandIns =>
  (path) =>
    path.length === 1 ? values[String(path[0])] : undefined;

const reportFields = of({
  version: 1,
  title: 'Title',
  owner: 'owner@docket.example',
  period: 'previous_month',
  sections: [{ id: 'stand-in', metrics: ['stand-in'] }],
  outputs: [{ format: 'xlsx' }],
});

const isSectionId = ([list, index, field, more]: ValuePath): boolean =>
  list === 'sections' && index !== undefined && field === 'id' && more === undefined;

export const reportStandIns: StandIns = (path) => (isSectionId(path) ? `stand-in-${path[1]}` : reportFields(path));

export const targetsStandIns: StandIns = of({ version: 1, targets: [] });

export const orgStandIns: StandIns = of({
  version: 1,
  org: 'current',
  api_key: { env: 'STAND_IN' },
  timezone: 'UTC',
  recipients: {},
});
