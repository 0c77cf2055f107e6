import type { CommentBlock, CommentSpan } from '../../../definitions/commentary/comment-text.ts';
import { parseComment } from '../../../definitions/commentary/comment-text.ts';
import { closestMatches } from '../../../definitions/diagnostics/suggest.ts';
import type { Column, Dataset, Table } from '../../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../../fetch/notes.ts';
import { firstRows } from '../../../fetch/rows.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { sectionCells } from '../../pack/cells.ts';
import { createPackContext, type PackContext } from '../../pack/pack-context.ts';
import { judgedChange } from '../change-text.ts';
import { viewColumns } from '../columns.ts';
import { UNDEFINED_TEXT } from '../format-value.ts';
import { findTotals, totalFigure } from '../total-figures.ts';

/** A figure that a comment may quote: in a section's totals, in its single row, or in one of its first rows. */
export interface FigureReference {
  /**
   * Without braces: `onboarding.profiles.created`, perhaps followed by `.change`, `.previous`, `.status` or `.range`.
   * In a row: `risk.profiles.approval_rate[severe]`.
   */
  readonly name: string;
  readonly section: string;
  /** The names of metric and row: `Approval rate (Severe)`. */
  readonly label: string;
  /** As the pack prints it, with its unit. */
  readonly text: string;
}

export type FigureReferences = ReadonlyMap<string, FigureReference>;

/** A reference as people write it. */
export const referenceText = ({ name }: Pick<FigureReference, 'name'>): string => `{{ ${name} }}`;

/**
 * The figures of a dataset that comments may quote, by name, in the order of the pack: the figure itself, its change
 * and the figure before (both for the section's first comparison), and its status. Totals come first, then the first
 * rows. Reads all rows of tables. Pure.
 * @param dataset with statuses
 */
export function figureReferences(dataset: Dataset, locale: string): FigureReferences {
  const found = new Map<string, FigureReference>();
  for (const table of dataset.tables) {
    for (const [suffix, { name: metric, label }, text] of collectReferences(dataset, table, locale)) {
      const name = `${table.id}.${metric}${suffix}`;
      // A metric may have the same name as another metric's change. Then the metric's own figure wins.
      if (suffix === '' || !found.has(name)) found.set(name, { name, section: table.id, label, text });
    }
  }
  const context = createPackContext(dataset, { locale, calendar: {} });
  for (const table of dataset.tables) {
    for (const reference of rowReferences(table, context)) {
      if (!found.has(reference.name)) found.set(reference.name, reference);
    }
  }
  return found;
}

const SUFFIXES = { value: '', previous: '.previous', change: '.change' } as const;

function* collectReferences(
  dataset: Dataset,
  table: Table,
  locale: string,
): Generator<readonly [suffix: string, metric: Column, text: string]> {
  const figures = lacksCurrentCounts(table) ? undefined : findTotals(table);
  if (figures === undefined) return;
  const views = viewColumns(table, locale);
  const [first] = table.comparisons;
  const { names } = messagesFor(locale).status;
  for (const view of views) {
    const { role, comparison, source } = view;
    if (role === 'value') {
      const { text, judged, usual } = totalFigure(dataset, table, figures, view, locale);
      yield [SUFFIXES.value, source, text];
      if (judged !== undefined) yield ['.status', source, names[judged.status]];
      if (usual !== undefined) yield ['.range', source, usual];
    } else if ((role === 'previous' || role === 'change') && comparison !== undefined && comparison === first?.kind) {
      const figure = views.find((each) => each.role === 'value' && each.source === source);
      if (figure === undefined) continue;
      const { judged } = totalFigure(dataset, table, figures, figure, locale);
      const { before, change } = judgedChange(figure, figures, comparison, undefined, { judged, few: dataset }, locale);
      yield [SUFFIXES[role], source, role === 'change' ? change.text : before];
    }
  }
}

/** The most rows of a section that comments may quote, counted from the first. */
const MAX_ROWS = 100;

/** The figures in a table's rows. A row is named by its values: `[severe]`, `[2026-10-05, entity]`. */
function* rowReferences(table: Table, context: PackContext): Generator<FigureReference> {
  const columns = context.columnsOf(table);
  const keys = columns.filter(({ role }) => role === 'label' || role === 'bucket');
  // The records of a list are not figures.
  if (keys.length === 0 || 'path' in table.rows || keys.some(({ source }) => source.kind === 'field')) return;
  const cells = sectionCells(context, table);
  const [first] = table.comparisons;
  for (const row of firstRows(table.rows, MAX_ROWS)) {
    const values = keys.map(({ source }) => row.values[source.name]);
    const key = values.join(', ');
    if (values.some((value) => typeof value !== 'string' || value === '') || /[{}[\]\p{Cc}]/u.test(key)) continue;
    const label = keys.map((view) => cells.ofRow(view, row).text).join(', ');
    for (const view of columns) {
      const { role, comparison, source } = view;
      if (role !== 'value' && role !== 'previous' && role !== 'change') continue;
      if (role !== 'value' && comparison !== first?.kind) continue;
      const name = `${table.id}.${source.name}[${key}]`;
      const { text, status } = cells.ofRow(view, row);
      const of = { section: table.id, label: context.words.mail.named(source.label, [label]) };
      yield { ...of, name: `${name}${SUFFIXES[role]}`, text };
      if (role === 'value' && status !== undefined) yield { ...of, name: `${name}.status`, text: status.word };
    }
  }
}

/** A reference must be on one line. */
const REFERENCE = /\{\{([^{}\n\r]*)\}\}/g;
const MAX_SHOWN_LENGTH = 60;

/** A reference that names no figure, or braces without a reference in them. */
export interface UnknownReference {
  /** As typed, shortened. */
  readonly typed: string;
  /** The name of the closest figure. */
  readonly near?: string;
}

/** Finds references in a comment that name no figure of the run. They are an error when the comment is written. */
export function unknownReferences(text: string, known: FigureReferences): readonly UnknownReference[] {
  const unknown: UnknownReference[] = [];
  const rest = text.replace(REFERENCE, (typed, inner: string) => {
    const name = inner.trim();
    if (known.has(name)) return '';
    const [near] = closestMatches(name, known.keys());
    unknown.push({ typed: typed.slice(0, MAX_SHOWN_LENGTH), ...(near === undefined ? {} : { near }) });
    return '';
  });
  const stray = /\{\{|\}\}/.exec(rest);
  if (stray !== null) unknown.push({ typed: rest.slice(stray.index, stray.index + MAX_SHOWN_LENGTH) });
  return unknown;
}

/**
 * The blocks of a comment, with figures in place of references. The printed figure is text, never markup. A figure that
 * the service no longer reports is shown as undefined.
 */
export function resolveNote(text: string, known: FigureReferences): readonly CommentBlock[] {
  const resolved = (spans: readonly CommentSpan[]): readonly CommentSpan[] =>
    spans.map((span) => ({
      ...span,
      text: span.text.replace(REFERENCE, (_, inner: string) => known.get(inner.trim())?.text ?? UNDEFINED_TEXT),
    }));
  return parseComment(text).map((block) =>
    block.kind === 'paragraph'
      ? { ...block, spans: resolved(block.spans) }
      : { ...block, items: block.items.map(resolved) },
  );
}

/** Removes the references from a comment's text: nobody typed their numbers. */
export const withoutReferences = (text: string): string => text.replace(REFERENCE, ' ');
