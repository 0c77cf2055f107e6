import type { Judgement, Status } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';

/** One shape per status, so that it can be told without colour. None is an arrow, which marks changes. */
const SHAPES = { on_target: '●', watch: '◆', breached: '■', undefined: '○' } as const satisfies Record<Status, string>;

/** Shape and word: `■ breached`. */
export const statusText = (status: Status, { status: words }: Words): string =>
  `${SHAPES[status]} ${words.names[status]}`;

/** The judgement of a section's totals; undefined without a target. */
export const totalJudgement = (
  judgements: readonly Judgement[] | undefined,
  section: string,
  metric: string,
): Judgement | undefined =>
  judgements?.find(
    (each) => each.section === section && each.metric === metric && each.bucket === null && each.group === null,
  );
