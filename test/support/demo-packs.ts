import { join } from 'node:path';
import { type SteadyClock, systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeInline } from '../../src/compose/run-ports.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { inlineArchive } from '../../src/deliver/archive/inline-archive.ts';
import { COMMENTED_SECTION, DEMO_COMMENT } from '../../src/demo/demo-review.ts';
import { findSampleReadings } from '../../src/demo/sample-readings.ts';
import { FORMATS } from '../../src/features/formats.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { iterateRows } from '../../src/fetch/rows.ts';
import { DEFAULT_LOCALE } from '../../src/i18n/messages.ts';
import { type TypedComment, withComments } from '../../src/render/figures/comments/printed-comments.ts';
import { createRenderer, type Rendered, type RenderRequest } from '../../src/render/renderer.ts';
import { run } from '../../src/run/run.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf } from './fetch-harness.ts';

/** Monday 23 November 2026, 08:00 in Zurich. The demo's reports cover the week before and October. */
export const DEMO_AT = Date.parse('2026-11-23T07:00:00Z');
/** The reports whose files have Docket's own layout. */
export const DEMO_REPORTS = ['weekly-kpi', 'board-pack'] as const;
export type DemoReport = (typeof DEMO_REPORTS)[number] | 'board-book';

export interface DemoPack extends Rendered {
  /** The dataset that all files were rendered from. */
  readonly dataset: Dataset;
  readonly definition: Definition;
  /** The folder with the files. */
  readonly folder: string;
}

interface DemoReview {
  readonly comments: readonly Pick<TypedComment, 'section' | 'text'>[];
}

/** The comment and the approvals of the demo's people on the board pack. */
export const DEMO_REVIEW: DemoReview = { comments: [{ section: COMMENTED_SECTION, text: DEMO_COMMENT }] };

/** The dataset with a review by the analyst and the MLRO of `jobs/demo/org.yaml`. */
function reviewed(dataset: Dataset, { comments }: DemoReview, { people = {} }: OrgSettings, locale: string): Dataset {
  const nameOf = (person: 'analyst' | 'mlro'): string => {
    const name = people[person]?.name;
    if (name === undefined) throw new Error(`the demo has no ${person}`);
    return name;
  };
  const typed = comments.map((comment) => ({ ...comment, author: nameOf('analyst'), at: DEMO_AT }));
  const by = [{ name: nameOf('mlro'), at: new Date(DEMO_AT).toISOString() }];
  return { ...withComments(dataset, typed, locale), approval: { by, content: 'c'.repeat(64) } };
}

export interface DemoPacks {
  /**
   * Runs a report into a folder of this name.
   * @param change of the definition, such as another locale
   * @param review what people add before the report goes out
   */
  run(report: DemoReport, name: string, change?: Partial<Definition>, review?: DemoReview): Promise<DemoPack>;
  close(): Promise<void>;
}

/** Drops what differs between runs: correlation ids of calls and the file behind large rows. */
const steady = (dataset: Dataset): Dataset => ({
  ...dataset,
  tables: dataset.tables.map((table) => ({ ...table, rows: [...iterateRows(table.rows)] })),
  calls: dataset.calls.map((call) => ({ ...call, correlationId: `00000000-0000-4000-8000-${call.id.slice(0, 12)}` })),
});

/**
 * Runs the definitions of `jobs/demo/` as `docket preview` does, against a sandbox whose history ends at `DEMO_AT`.
 * Figures, texts and bytes are the same every day.
 */
export async function openDemoPacks(folder: string): Promise<DemoPacks> {
  const sandbox: Sandbox = await startSandbox({ now: DEMO_AT, windowMs: 1 });
  const jobs = await loadDefinitions('jobs');
  const key = sandbox.keys.find(({ label }) => label === 'acme')?.key;
  const clock: SteadyClock = { ...systemClock, now: () => DEMO_AT };
  const config = readConfig({ COMPLIANCE_API_URL: sandbox.url });
  const budget = memoryBudget({ calls: 1_000_000, windowMs: 1, clock });
  const render = createRenderer(FORMATS);

  return {
    close: () => sandbox.close(),
    run: async (report, name, change = {}, review) => {
      const { definition: own, settings } = requireReport(jobs, `demo/${report}`);
      const definition = { ...own, ...change };
      const archive = inlineArchive(join(folder, name));
      const context = { config, env: { DEMO_API_KEY: key }, clock, log: silentLog, workingDirectory: folder };
      const { buildRunPorts, scope } = await composeInline(context, archive);
      try {
        let made: { readonly dataset: Dataset; readonly rendered: Rendered } | undefined;
        const ports = {
          ...(await buildRunPorts(settings)),
          budget,
          readings: findSampleReadings({ settings, key: 'acme', now: DEMO_AT }),
          render: async (request: RenderRequest, signal: AbortSignal) => {
            const plain = steady(request.dataset);
            const { locale = DEFAULT_LOCALE } = request;
            const dataset = review === undefined ? plain : reviewed(plain, review, settings, locale);
            const rendered = await render({ ...request, dataset }, signal);
            made = { dataset, rendered };
            return rendered;
          },
        };
        const order = createRunOrder({
          definition,
          settings,
          trigger: 'schedule',
          priority: 'scheduled',
          slot: new Date(DEMO_AT).toISOString(),
          at: DEMO_AT,
          deliver: false,
          now: DEMO_AT,
        });
        const { signal } = new AbortController();
        doneOf(await run(order, { definition, settings, signal, observe: () => {}, lastAttempt: true }, ports));
        const published = await archive.find(order);
        if (made === undefined || published === undefined) throw new Error(`${report} was not rendered`);
        const { dataset, rendered } = made;
        // The rendered files were moved to the published folder.
        return { ...rendered, artifacts: published.artifacts, dataset, definition, folder: published.folder };
      } finally {
        await scope.close();
      }
    },
  };
}
