import { z } from 'zod';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { Desk } from '../../definitions/schema/split.ts';
import type { CallRecord, Dataset } from '../../fetch/dataset.ts';
import type { ConditionResults } from '../delivery-conditions.ts';
import type { RunOrder } from '../run-record.ts';

/** A value of a report with `split`, and its pack's figures. */
export interface PackFigures {
  readonly desk: Desk;
  /** Why nobody receives the pack. Absent: it is not held. */
  readonly held?: string | undefined;
  /**
   * Reads the judged dataset. Absent: the pack cannot be made. @param folder receives the rows of lists as files.
   * Undefined: lists have no rows
   */
  readonly dataset?: ((folder?: string) => Promise<Dataset>) | undefined;
  /** With frozen figures: the decisions on deliveries. Absent: they are made when the pack is rendered. */
  readonly conditions?: ConditionResults | undefined;
}

/** The figures of all packs. Each pack is read only when needed, so that they are never all in memory. */
export interface SplitFigures {
  readonly packs: readonly PackFigures[];
  /** Sentences about what is in no pack. */
  readonly unassigned: readonly string[];
  readonly calls: readonly CallRecord[];
  readonly registryVersion: number;
}

/** The figures that people review: of the whole report, or of each pack. */
export type ReviewedFigures = Dataset | SplitFigures;

export const isSplit = (figures: ReviewedFigures): figures is SplitFigures => 'packs' in figures;

/** The run's own dataset in a report with `split`: it has calls, but no figures. */
export const runDataset = (
  { calls, registryVersion }: Pick<SplitFigures, 'calls' | 'registryVersion'>,
  { org, report, period }: Pick<RunOrder, 'org' | 'report' | 'period'>,
  { definition: { title, owner }, settings }: { readonly definition: Definition; readonly settings: OrgSettings },
): Dataset => ({
  org,
  organization: settings.name ?? settings.id,
  report,
  title,
  owner,
  period,
  tables: [],
  calls,
  registryVersion,
});

export const conditionsSchema = z.object({
  figures: z.string().exactOptional(),
  conditions: z.array(
    z.object({
      target: z.string(),
      recipient: z.string().nullable(),
      send_if: z.string(),
      send: z.boolean(),
      reason: z.string(),
    }),
  ),
});

/** What is stored of the packs besides their figures. */
export const frozenSplitSchema = z.object({
  unassigned: z.array(z.string()),
  packs: z.array(
    z.object({
      desk: z.object({ value: z.string(), label: z.string(), slug: z.string() }),
      held: z.string().optional(),
      /** Folder of the pack's figures. Absent: the pack cannot be made. */
      folder: z.string().optional(),
      conditions: conditionsSchema.optional(),
    }),
  ),
});
export type FrozenSplit = z.infer<typeof frozenSplitSchema>;

export const freezeSplit = ({ packs, unassigned }: SplitFigures): FrozenSplit => ({
  unassigned: [...unassigned],
  packs: packs.map(({ desk, held, dataset, conditions }, index) => ({
    desk: { ...desk },
    held,
    folder: dataset === undefined ? undefined : `packs/${String(index).padStart(4, '0')}`,
    conditions: conditions === undefined ? undefined : { ...conditions, conditions: [...conditions.conditions] },
  })),
});

/** Restores the frozen packs. @param read reads a pack's figures from its folder */
export const thawSplit = (
  { packs, unassigned }: FrozenSplit,
  { calls, registryVersion }: Pick<SplitFigures, 'calls' | 'registryVersion'>,
  read: (stored: string, folder: string | undefined) => Promise<Dataset>,
): SplitFigures => ({
  packs: packs.map(({ desk, held, folder: stored, conditions }) => ({
    desk,
    held,
    dataset: stored === undefined ? undefined : (folder?: string) => read(stored, folder),
    conditions,
  })),
  unassigned,
  calls,
  registryVersion,
});
