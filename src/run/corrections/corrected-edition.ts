import { DocketError } from '../../base/error.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { CorrectedEdition, Dataset } from '../../fetch/dataset.ts';
import type { RunOrder } from '../run-record.ts';
import { compareEditions } from './compare-editions.ts';
import { boundariesOf, type EditionFigures, editionSections } from './edition-figures.ts';

/** An edition that a corrected one replaces. */
export interface ReplacedEdition {
  readonly figures: EditionFigures;
  /** When it was delivered, epoch ms. */
  readonly at: number;
  /** Which edition the run that replaces it is, counted from 1, the first one. */
  readonly edition: number;
  /** How many of the corrected editions up to that run Docket sent by itself. */
  readonly automatic: number;
  readonly recipients: NonNullable<CorrectedEdition['recipients']>;
}

/** A file that an output is made from. */
export interface OutputFileBytes {
  /** From the folder of `org.yaml`, as the definition names it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The figures of editions, in the archive. */
export interface EditionStore {
  /** Stores the figures of a run before it is published. @returns their SHA-256 (hex) */
  putFigures(run: RunOrder, text: string): Promise<string>;
  /** Stores a file that an output of a run is made from. @returns its SHA-256 (hex) */
  putFile(run: RunOrder, bytes: Uint8Array): Promise<string>;
  /** The files that the outputs of an edition were made from. Throws as `replacedBy`. */
  filesReplacedBy(run: RunOrder & { readonly corrects: string }): Promise<readonly OutputFileBytes[]>;
  /**
   * The edition that this run replaces. Throws `correction.not_found` where nobody decided that this run replaces it,
   * `archive.*`, `redis.unreachable`.
   */
  replacedBy(run: RunOrder & { readonly corrects: string }): Promise<ReplacedEdition>;
}

interface EditionInput {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** What the outputs of the run were made from. */
  readonly files: () => Promise<readonly OutputFileBytes[]>;
}

/** The files of the edition that this run replaces: a corrected edition looks like the first one. Empty for any other run. */
export async function replacedFiles(
  order: RunOrder,
  editions: EditionStore | undefined,
): Promise<readonly OutputFileBytes[]> {
  const { corrects } = order;
  return corrects === undefined || editions === undefined ? [] : editions.filesReplacedBy({ ...order, corrects });
}

/** The dataset of a corrected edition, with what it changes and who gets it; that of any other run as it is. */
export async function withCorrection(
  dataset: Dataset,
  order: RunOrder,
  { sections }: Definition,
  editions: EditionStore | undefined,
): Promise<Dataset> {
  const { corrects } = order;
  if (corrects === undefined) return dataset;
  if (editions === undefined) throw new DocketError('internal.defect', 'This process cannot correct editions.');
  const { figures, at, recipients, edition, automatic } = await editions.replacedBy({ ...order, corrects });
  const { changes } = compareEditions(figures, editionSections(dataset, sections));
  const correction = {
    replaces: { run: corrects, at: new Date(at).toISOString() },
    edition,
    automatic,
    changes,
    recipients,
  };
  return { ...dataset, correction };
}

/**
 * Stores the figures of an edition that will be watched, and returns their SHA-256 for its manifest. Undefined without
 * `corrections`, and for a run that delivers nothing.
 */
export async function storeEditionFigures(
  dataset: Dataset,
  order: RunOrder,
  { definition, settings, files: readFiles }: EditionInput,
  editions: EditionStore | undefined,
): Promise<string | undefined> {
  const { corrections } = definition;
  if (corrections === undefined || !order.deliver || editions === undefined) return undefined;
  // The logo is a file beside org.yaml, and the mail server is always the current one.
  const { logo: _, smtp: __, ...kept } = settings;
  const files: Record<string, string> = {};
  for (const { name, bytes } of await readFiles()) files[name] = await editions.putFile(order, bytes);
  const figures: EditionFigures = {
    version: 1,
    run: order.id,
    org: order.org,
    report: order.report,
    digest: order.digest,
    period: order.period,
    ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
    corrections,
    definition: { ...definition },
    ...(Object.keys(files).length === 0 ? {} : { files }),
    settings: { ...kept },
    sections: editionSections(dataset, definition.sections),
    boundaries: boundariesOf(dataset),
  };
  return editions.putFigures(order, `${JSON.stringify(figures)}\n`);
}
