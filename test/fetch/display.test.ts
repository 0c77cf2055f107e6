import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { viewColumns } from '../../src/render/figures/columns.ts';
import { describeFilters } from '../../src/render/table-notes.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../support/fetch-harness.ts';
import { definitionOf, type SectionInput, settingsOf, WEEK } from '../support/reports.ts';
import { rowsOf } from '../support/rows.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const P50 = 'profiles.time_to_decision_p50';
const P90 = 'profiles.time_to_decision_p90';

async function fetch(sections: SectionInput[], more: Partial<Definition>) {
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'));
  const catalog = await context.client.catalog('current', context.signal);
  const definition = definitionOf(sections, more);
  const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog });
  const { tables } = doneOf(await fetchDataset({ ...context, plan, organization: 'Acme Payments', catalog }));
  return { tables, catalog };
}

test('a duration is shown in the same unit in all tables, and its figures stay in seconds', async () => {
  const sections: SectionInput[] = [
    { id: 'whole', metrics: [P50] },
    { id: 'days', metrics: [P50, P90], granularity: 'day' },
    { id: 'types', metrics: [P90, 'profiles.created'], dimensions: ['profile.type'] },
  ];
  const shownIn = (tables: Awaited<ReturnType<typeof fetch>>['tables']) =>
    tables.map(({ columns }) => columns.flatMap(({ name, shownIn: unit }) => (unit ? [`${name} ${unit}`] : [])));
  const { tables } = await fetch(sections, {});
  const [[first = ''] = []] = shownIn(tables);
  const unit = first.split(' ')[1];
  expect(shownIn(tables)).toEqual([[`${P50} ${unit}`], [`${P50} ${unit}`, `${P90} ${unit}`], [`${P90} ${unit}`]]);
  const requested = (await fetch(sections, { units: { [P90]: 'minutes' } })).tables;
  expect(shownIn(requested)).toEqual([[`${P50} minutes`], [`${P50} minutes`, `${P90} minutes`], [`${P90} minutes`]]);
  expect(rowsOf(requested[0])[0]?.values).toEqual(rowsOf(tables[0])[0]?.values);
});

test('labels of a report replace those of the service for metrics, dimensions, values and filters', async () => {
  const labels = { [P50]: 'Waiting', 'profile.risk': 'Rating', high: 'Severe-ish', 'profile.type': 'Kind' };
  const sections: SectionInput[] = [
    {
      id: 'a',
      metrics: [P50, 'profiles.created'],
      dimensions: ['profile.risk'],
      filters: [{ dimension: 'profile.type', values: 'entity' }],
    },
    { id: 'roster', list: 'profiles', search: 'Freight' },
  ];
  const { tables, catalog } = await fetch(sections, { labels: { ...labels, review_status: 'Stage', AP: 'Cleared' } });
  const [table, roster] = tables;
  const created = catalog.metrics.find(({ id }) => id === 'profiles.created')?.label;
  expect(table?.columns.map(({ label }) => label)).toEqual(['Rating', 'Waiting', created]);
  expect(table?.columns[0]?.values?.find(({ value }) => value === 'high')?.label).toBe('Severe-ish');
  expect(describeFilters(table!)[0]).toMatch(/^Kind is /);

  const columns = viewColumns(roster!);
  const shown = (name: string) => {
    const column = columns.find(({ source }) => source.name === name);
    return { header: column?.plainHeader, values: new Set(rowsOf(roster).map((row) => column?.read(row))) };
  };
  const stages = shown('review_status');
  expect(stages.header).toBe('Stage');
  expect([...stages.values]).not.toContain('AP');
  expect([...stages.values].every((text) => String(text).length > 2)).toBe(true);
  expect([...shown('creation_source').values]).not.toContain('intake_form');
  // The rows themselves keep the service's codes.
  expect(rowsOf(roster).every(({ values }) => String(values.review_status).length === 2)).toBe(true);
});
