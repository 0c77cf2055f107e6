import { cutAtWord } from '../../../../base/text/cut-text.ts';
import { messagesFor } from '../../../../i18n/messages.ts';
import { isDrawnAsLine, lineScale, type Scale, zeroBasedScale } from '../../../charts/axis-scale.ts';
import { type Tone, withArrow } from '../../../figures/change-text.ts';
import { unitLabel } from '../../../figures/format-value.ts';
import { type Quantity, rawPerShown } from '../../../figures/quantity.ts';
import type { Scorecard, ScorecardRow, TrendPanel } from '../../../pack/pack.ts';
import { buildTicks, positionOn, type Tick } from './axis-ticks.ts';
import { stretched } from './chart-data.ts';
import { type StatusData, statusData } from './table-data.ts';

/** A small line chart in a row. */
export interface SparkData {
  readonly alt: string;
  /** From 0 to 1; null is a gap. */
  readonly values: readonly (number | null)[];
  /** By value: whether its time is cut off or has not ended. */
  readonly partial: readonly boolean[];
}

export interface ScorecardRowData {
  readonly label: string;
  readonly value: string;
  /** It has few cases and is grey. */
  readonly few: boolean;
  readonly running: boolean;
  /** One for each comparison; null if the figure is not compared. */
  readonly compared: readonly ({
    readonly value: string;
    /** The change, with its arrow. */
    readonly change: string;
    readonly tone: Tone;
    /** The tone in words. */
    readonly toneWord: string;
  } | null)[];
  readonly toDate: string;
  readonly target: string;
  /** The watch limit; may be empty. */
  readonly watch: string;
  readonly status: StatusData | null;
  /** E.g. `usual 420–520`; may be empty. */
  readonly usual: string;
  readonly trend: SparkData | null;
}

export interface ScorecardData {
  /** What all its figures cover, if that is not everything in the period; may be empty. */
  readonly scope: string;
  /** Headers of the existing columns. An empty text or list: there is no such column. */
  readonly headers: {
    readonly metric: string;
    readonly value: string;
    readonly compared: readonly { readonly value: string; readonly change: string }[];
    readonly toDate: string;
    readonly target: string;
    readonly status: string;
    readonly trend: string;
  };
  readonly groups: readonly { readonly title: string; readonly rows: readonly ScorecardRowData[] }[];
}

/** A metric of a trend section. */
export interface PanelData {
  readonly label: string;
  /** The unit of the axis' labels; empty if the labels contain it. */
  readonly unit: string;
  /** The last figure, with its bucket. */
  readonly latest: string;
  readonly alt: string;
  readonly ticks: readonly Tick[];
  readonly zero: number;
  readonly points: readonly {
    readonly label: string;
    /** From 0 to 1; null is a gap. */
    readonly at: number | null;
    /** The position of the target's line. */
    readonly target: number | null;
    /** The bucket is cut off or has not ended. */
    readonly partial: boolean;
  }[];
  /** The usual range of the last point as positions, drawn from the point `from` on; null without a range. */
  readonly band: { readonly low: number; readonly high: number; readonly from: number; readonly text: string } | null;
  /** The latest target in words; empty without one. */
  readonly target: string;
  /**
   * A rate is drawn as a line, whose axis may begin above zero; null for columns. Positions are like those of `points`.
   */
  readonly line: {
    readonly ticks: readonly Tick[];
    readonly points: readonly { readonly at: number | null; readonly target: number | null }[];
    readonly band: PanelData['band'];
  } | null;
}

function rowData(
  {
    label,
    figure,
    compared,
    toDate,
    target,
    status,
    trend,
    trendText = label,
    running,
    watchText,
    usual,
  }: ScorecardRow,
  locale: string,
): ScorecardRowData {
  const words = messagesFor(locale);
  return {
    label,
    value: figure.text,
    few: figure.few !== undefined,
    running,
    compared: compared.map((each) =>
      each === undefined
        ? null
        : {
            value: each.text,
            change: withArrow(each.direction, each.change.text),
            tone: each.tone,
            toneWord: each.tone === '' ? '' : words.status.tones[each.tone],
          },
    ),
    toDate: toDate?.text ?? '',
    target: target?.text ?? '',
    watch: watchText ?? '',
    status: status === undefined ? null : statusData(status),
    usual: usual ?? '',
    trend:
      trend.length === 0
        ? null
        : {
            alt: trendText,
            values: stretched(trend.map(({ value }) => value)),
            partial: trend.map(({ partial }) => partial),
          },
  };
}

export function scorecardData(
  { scope, headings, toDate, hasTargets, trend, groups }: Scorecard,
  locale: string,
): ScorecardData {
  return {
    scope,
    headers: {
      metric: headings.metric,
      value: headings.figure,
      compared: headings.compared.map(({ figure, change }) => ({ value: figure, change })),
      toDate: toDate === undefined ? '' : headings.toDate,
      target: hasTargets ? headings.target : '',
      status: hasTargets ? headings.status : '',
      trend: trend === undefined ? '' : headings.trend,
    },
    groups: groups.map(({ title, rows }) => ({
      title: title ?? '',
      rows: rows.map((row) => rowData(row, locale)),
    })),
  };
}

/** A panel's figures, limits and range, in shown units. */
interface Drawn {
  readonly shown: readonly (number | null)[];
  readonly limits: readonly (number | null)[];
  readonly band: TrendPanel['band'];
}

const drawnValues = ({ shown, limits, band }: Drawn): number[] =>
  [...shown, ...limits, band?.low ?? null, band?.high ?? null].filter((value) => value !== null);

const bandOn = (scale: Scale, { band }: Drawn): PanelData['band'] =>
  band === undefined ? null : { ...band, low: positionOn(scale, band.low), high: positionOn(scale, band.high) };

function buildLine(drawn: Drawn, quantity: Quantity, locale: string): PanelData['line'] {
  const scale = lineScale(drawnValues(drawn), quantity);
  const at = (value: number | null | undefined) => (value == null ? null : positionOn(scale, value));
  return {
    ticks: buildTicks(scale, quantity, locale),
    points: drawn.shown.map((value, index) => ({ at: at(value), target: at(drawn.limits[index]) })),
    band: bandOn(scale, drawn),
  };
}

export function panelData(
  { label, quantity, points, target, band, description }: TrendPanel,
  locale: string,
): PanelData {
  const divide = rawPerShown(quantity);
  const shown = points.map(({ value }) => (value === null ? null : value / divide));
  const limits = target?.values.map((value) => (value === null ? null : value / divide)) ?? [];
  const drawn: Drawn = {
    shown,
    limits,
    band: band === undefined ? undefined : { ...band, low: band.low / divide, high: band.high / divide },
  };
  const scale = zeroBasedScale(drawnValues(drawn), quantity);
  const at = (value: number | null | undefined) =>
    value === null || value === undefined ? null : positionOn(scale, value);
  const last = points.findLast(({ value }) => value !== null);
  const words = messagesFor(locale);
  return {
    label,
    unit: quantity.kind === 'ratio' ? '' : (unitLabel(quantity, words) ?? ''),
    latest: last === undefined ? '' : `${last.text} (${last.label})`,
    alt: description,
    ticks: buildTicks(scale, quantity, locale),
    zero: positionOn(scale, 0),
    points: points.map((point, index) => ({
      label: cutAtWord(point.label, 16),
      at: at(shown[index]),
      target: at(limits[index]),
      partial: point.partial,
    })),
    target: target === undefined ? '' : words.status.target(target.text),
    band: bandOn(scale, drawn),
    line: isDrawnAsLine(quantity) ? buildLine(drawn, quantity, locale) : null,
  };
}
