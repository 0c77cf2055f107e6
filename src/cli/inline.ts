import { randomUUID } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { OrgsInForce } from '../compose/key-limits.ts';
import { composeInline, type Surroundings } from '../compose/ports.ts';
import type { Definition, PeriodSpec } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Sealed } from '../deliver/archive.ts';
import { inlineArchive } from '../deliver/directory-archive.ts';
import { orderRun } from '../run/order.ts';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { run } from '../run/run.ts';
import { openBars } from './progress-bar.ts';
import { watchRun } from './run-progress.ts';
import { abortOnSignal } from './surroundings.ts';

export interface InlineRun {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** Of all definitions: which of them share a key decides of its limits. None when absent. */
  readonly orgs?: OrgsInForce;
  /** Another one than the definition's. */
  readonly period?: PeriodSpec | undefined;
  /** Where the files go. */
  readonly out: (order: RunOrder) => string;
  readonly deliver: boolean;
}

export interface InlineResult {
  readonly order: RunOrder;
  readonly result: RunResult;
  readonly sealed: Sealed;
}

/** One run here and now, its progress told on stderr. Throws what made it fail. */
export async function runInline(request: InlineRun, around: Surroundings): Promise<InlineResult> {
  const { definition, settings, period, deliver } = request;
  const report = `${definition.org}/${definition.report}`;
  const now = around.clock.now();
  const order = orderRun({
    definition,
    settings,
    trigger: 'cli',
    priority: 'on_demand',
    slot: `trigger:${randomUUID()}`,
    at: now,
    ...(period === undefined ? {} : { period }),
    deliver,
    now,
  });
  const archive = inlineArchive(request.out(order));
  // Before a call is spent: a folder that cannot be written would throw all of them away.
  await archive.find(order);
  await archive.discard(await archive.stage(order.id));
  const { portsOf, scope } = await composeInline(around, archive, { orgs: request.orgs });
  try {
    const bars = scope.use(openBars(), (opened) => opened.close());
    const outcome = await run(
      order,
      {
        definition,
        settings,
        signal: abortOnSignal(),
        observe: watchRun(report, bars, around.clock.now),
        lastAttempt: true,
      },
      await portsOf(settings),
    );
    if (outcome.kind === 'fail') throw outcome.error;
    const sealed = outcome.kind === 'done' ? await archive.find(order) : undefined;
    if (outcome.kind === 'done' && sealed !== undefined) return { order, result: outcome.value, sealed };
    throw new DocketError(
      'run.cancelled',
      outcome.kind === 'done' ? 'The files of the run are gone.' : `The run did not end. ${outcome.why}`,
      { next: 'Run it again; nothing half-made was left.' },
    );
  } finally {
    await scope.close();
  }
}
