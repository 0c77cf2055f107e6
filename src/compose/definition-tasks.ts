import type { Catalog } from '../contract/catalog.ts';
import { byPosition, type Fault } from '../define/fault.ts';
import { faultAt, firstFaults } from '../define/parse.ts';
import { periodOf } from '../define/period.ts';
import { type SettingsOf, settingsOf } from '../define/reader.ts';
import { type LoadedOrg, type ReportOf, reportOf } from '../define/report-of.ts';
import type { Source } from '../define/source.ts';
import { checkPlan } from '../plan/check-plan.ts';

/** A report's text, and what it is read as. */
export interface ReportText {
  readonly text: string;
  /** As faults name it. */
  readonly file: string;
  readonly name: { readonly org: string; readonly report: string };
  readonly of: LoadedOrg | undefined;
}

/** What the thread of definitions does: reads a file, or checks a text that was posted. */
export type DefinitionTask =
  | ({ readonly kind: 'report'; readonly positions: boolean } & ReportText)
  | { readonly kind: 'settings'; readonly positions: boolean; readonly text: string; readonly file: string }
  | ({ readonly kind: 'posted' } & PostedTask);

export interface PostedTask extends ReportText {
  /** To compare with. */
  readonly catalog: Catalog | undefined;
  readonly now: number;
}

export type DefinitionAnswer =
  | { readonly kind: 'report'; readonly read: ReportOf }
  | { readonly kind: 'settings'; readonly read: SettingsOf }
  | { readonly kind: 'posted'; readonly faults: readonly Fault[] };

export function answerTask(task: DefinitionTask): DefinitionAnswer {
  if (task.kind === 'posted') return { kind: 'posted', faults: checkPosted(task) };
  if (task.kind === 'settings') {
    const read = settingsOf(task.text, task.file);
    return { kind: 'settings', read: sent(read, task.positions && read.value !== undefined) };
  }
  const read = reportOf(task.text, task.file, task.name, task.of);
  return { kind: 'report', read: sent(read, task.positions && read.definition !== undefined) };
}

/** All faults of a text: its own, and what the catalog cannot answer. */
export function checkPosted({ text, file, name, of, catalog, now }: PostedTask): readonly Fault[] {
  const { source, definition, faults } = reportOf(text, file, name, of);
  if (definition === undefined || of === undefined || catalog === undefined) return faults;
  const planned = checkPlan({ definition, period: periodOf(definition, of.settings, now), catalog });
  return firstFaults(source, planned.map(({ path, ...fault }) => faultAt(source, path, fault)).sort(byPosition));
}

const NO_LINES = new Uint32Array();

/** As it is sent: who asked has the text, and not everybody wants positions, which are larger than it. */
const sent = <Read extends { readonly source: Source }>(read: Read, positions: boolean): Read => {
  const { tree, lines, file } = read.source;
  const kept = positions && tree !== undefined ? { lines, tree } : { lines: NO_LINES };
  return { ...read, source: { file, text: '', ...kept } };
};
