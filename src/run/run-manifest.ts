import type { FiscalCalendar } from '../definitions/periods/fiscal-calendar.ts';
import { describeDelivery, type TargetDescription } from '../definitions/schema/kinds.ts';
import type { Manifest } from '../deliver/archive/archive.ts';
import type { ReadingRecord, TrendReadingRecord } from '../deliver/archive/manifest.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { incompleteNotes } from '../fetch/notes.ts';
import { DEFAULT_LOCALE, messagesFor } from '../i18n/messages.ts';
import { type Artifact, storedKind } from '../render/artifact.ts';
import { usualFigures } from '../render/figures/headline-figures.ts';
import type { RunContext, RunPorts } from './run-context.ts';
import type { RunOrder } from './run-record.ts';

/** Makes the manifest of rendered files, without decisions on deliveries. */
export const createManifest = (
  { dataset, madeAt }: { readonly dataset: Dataset; readonly madeAt: number },
  artifacts: readonly Artifact[],
  order: RunOrder,
  { definition, settings }: RunContext,
  { targets = TARGETS }: RunPorts,
): Manifest => {
  const deliveries = definition.deliveries.map((delivery) => describeDelivery(delivery, targets));
  return {
    ...buildManifest(dataset, order, artifacts, madeAt, deliveries),
    ...collectRanges(dataset, definition.locale ?? settings.locale ?? DEFAULT_LOCALE, settings),
    ...buildCorrects(dataset, definition.locale ?? settings.locale),
  };
};

const buildManifest = (
  dataset: Dataset,
  order: RunOrder,
  artifacts: readonly Artifact[],
  madeAt: number,
  deliveries: readonly TargetDescription[],
): Manifest => ({
  version: 1,
  run: order.id,
  org: order.org,
  organization: dataset.organization,
  report: order.report,
  title: dataset.title,
  owner: dataset.owner,
  slot: order.slot,
  digest: order.digest,
  period: order.period,
  ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
  registry_version: dataset.registryVersion,
  calls: dataset.calls,
  ...collectReadings(dataset),
  incomplete: incompleteNotes(dataset),
  ...(dataset.small === undefined ? {} : { small: dataset.small }),
  ...(dataset.bases === undefined ? {} : { bases: dataset.bases }),
  ...(dataset.targets === undefined ? {} : { targets: dataset.targets }),
  ...(dataset.judgements === undefined ? {} : { judgements: dataset.judgements }),
  ...(dataset.headlines === undefined || dataset.headlines.length === 0 ? {} : { headlines: dataset.headlines }),
  files: artifacts.map((artifact) => {
    const { name, bytes, sha256, workbook } = artifact;
    return { name, ...storedKind(artifact), bytes, sha256, ...(workbook === undefined ? {} : { workbook }) };
  }),
  recipients: deliveries.flatMap(({ addresses }) => addresses),
  made_at: new Date(madeAt).toISOString(),
});

function collectRanges(dataset: Dataset, locale: string, calendar: FiscalCalendar): Pick<Manifest, 'ranges'> {
  const ranges = usualFigures(dataset, locale, calendar);
  return ranges.length === 0 ? {} : { ranges };
}

/** The edition that this run replaces, or the delivery that it repeats. */
export const buildCorrects = (
  { correction, repeats }: Dataset,
  locale: string | undefined,
): Pick<Manifest, 'corrects' | 'repeats'> =>
  correction === undefined
    ? repeats === undefined
      ? {}
      : { repeats: { ...repeats, subject: messagesFor(locale).review.repeatedSubject } }
    : {
        corrects: {
          ...correction.replaces,
          changes: correction.changes.length,
          subject: messagesFor(locale).review.correctedSubject(correction.edition),
          edition: correction.edition,
          automatic: correction.automatic,
        },
      };

/** The readings behind the figures and the points of trends, section by section. */
function collectReadings({ tables }: Dataset): Pick<Manifest, 'readings' | 'trend_readings'> {
  const readings = tables.flatMap(({ id: section, readings: own = [] }) =>
    own.map(
      ({ asOf, correlationId, ...reading }): ReadingRecord => ({
        section,
        ...reading,
        as_of: asOf,
        correlation_id: correlationId,
      }),
    ),
  );
  const ofTrends = tables.flatMap(({ id: section, trend }) =>
    (trend?.readings ?? []).map(
      ({ asOf, correlationId, ...reading }): TrendReadingRecord => ({
        section,
        ...reading,
        as_of: asOf,
        correlation_id: correlationId,
      }),
    ),
  );
  return {
    ...(readings.length === 0 ? {} : { readings }),
    ...(ofTrends.length === 0 ? {} : { trend_readings: ofTrends }),
  };
}
