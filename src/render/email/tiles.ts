import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Status } from '../../fetch/dataset.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { findBetter } from '../figures/better.ts';
import { type ChangeText, changeTexts } from '../figures/change-text.ts';
import { fewText } from '../figures/few.ts';
import { byPlace, type FigurePlace } from '../figures/figure-identity.ts';
import { formatTarget } from '../figures/format-value.ts';
import { selectColour, statusText } from '../figures/status-text.ts';
import { distinctFigures, distinguishingSections, type TotalFigure, totalFigures } from '../figures/total-figures.ts';

/** A headline figure: the service's total, or the only value of a section without groups. It is never a sum of rows. */
export interface Tile {
  /** Name and scope. */
  readonly label: string;
  /** The metric's label. The section's title is added if the label is not unique. */
  readonly name: string;
  /** Filters, range and state, if they differ from the whole period: `Risk is Severe; so far`. May be empty. */
  readonly scope: string;
  readonly value: string;
  /** It has few cases. */
  readonly few: boolean;
  /** E.g. `▲ 12.4% from 5,685`; absent without a comparison. */
  readonly change?: string;
  /** The change for each comparison, and whether it is better or worse; empty without a comparison. */
  readonly changes: readonly ChangeText[];
  /** E.g. `■ breached`; absent without a target. */
  readonly status?: string;
  /** The status itself; absent without a target. */
  readonly state?: Status;
  /** E.g. `target 90%`; absent without a target. */
  readonly target?: string;
  /** E.g. `usual 420–520`; absent if its history gives no range. */
  readonly range?: string;
  /** The section's title. */
  readonly section: string;
  /** Ids of its section and metric. */
  readonly source: { readonly section: string; readonly metric: string };
  /** From `figureKey`. */
  readonly key: string;
  readonly place: FigurePlace;
}

/** The texts for status and target of a headline figure. */
function judgedTexts(
  { judged, view, value }: TotalFigure,
  locale: string,
): Partial<Pick<Tile, 'status' | 'state' | 'target'>> {
  if (judged === undefined) return {};
  const words = messagesFor(locale);
  return {
    status: statusText(judged, words),
    state: selectColour(judged),
    target: words.status.target(formatTarget(judged.target, view.quantity, locale, [value])),
  };
}

/**
 * The totals as headline figures, without repetitions. Those of the report's period and scope come first: breached, on
 * watch, then the others. Figures with the same name and scope also get their section's title.
 */
export function buildTiles(dataset: Dataset, locale: string): Tile[] {
  const { mail } = messagesFor(locale);
  const unique = distinctFigures(
    dataset.tables.flatMap((table) => totalFigures(dataset, table, locale)),
    locale,
    dataset,
  );
  const urgency = ({ judged }: TotalFigure) => {
    const shown = judged && selectColour(judged);
    return shown === 'breached' ? 0 : shown === 'watch' ? 1 : 2;
  };
  const ordered = unique.sort((one, other) => byPlace(one.place, other.place) || urgency(one) - urgency(other));
  const sections = distinguishingSections(ordered);
  const named = (label: string, about: readonly string[]) =>
    about.length === 0 ? label : mail.named(isolateBidi(label), about);
  return ordered.map((figure, index): Tile => {
    const { table, view, value, scope, text, figures, comparisons, key, place, judged, usual } = figure;
    const { name: metric, label } = view.source;
    const section = sections[index] ?? [];
    const changes = changeTexts(
      view,
      figures,
      comparisons,
      findBetter(dataset, table, metric),
      { judged, few: dataset },
      locale,
    );
    return {
      label: named(label, [...section, ...(scope === '' ? [] : [scope])]),
      name: named(label, section),
      scope,
      value: text,
      few: fewText(dataset, view.source, value, figures.cases) !== undefined,
      ...(changes.length === 0 ? {} : { change: changes.map((change) => change.text).join('; ') }),
      changes,
      ...judgedTexts(figure, locale),
      ...(usual === undefined ? {} : { range: usual }),
      section: table.title,
      source: { section: table.id, metric },
      key,
      place,
    };
  });
}
