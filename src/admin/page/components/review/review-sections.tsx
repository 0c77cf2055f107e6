import { type CommentSpan, parseComment } from '../../../../definitions/commentary/comment-text.ts';
import { type CarriedComment, figureQuoter, type ReviewView } from '../../../../services/reviews/review-service.ts';
import { CommentForm, sectionKey } from '../../forms/comment-form.tsx';
import type { RejectedForm } from '../../forms/reason-form.tsx';
import { formatCounted } from '../format-numbers.ts';
import { canAct, type LayoutData, Table } from '../layout.tsx';
import { When } from '../time.tsx';

interface ReviewSectionsProps {
  readonly layout: LayoutData;
  readonly view: ReviewView;
  readonly zone: string;
  /** Whether comments can still be written. */
  readonly isOpen: boolean;
  /** The section whose draft somebody wants to start from, as a `sectionKey`. */
  readonly draft: string | undefined;
  readonly refused: RejectedForm | undefined;
}

interface Commentable {
  readonly id: string | null;
  readonly title: string;
  readonly required: boolean;
  readonly references: ReviewView['sections'][number]['references'];
}

/**
 * The figures and comments of the report, section by section. Sections without a comment, a draft or a required comment
 * are folded.
 */
export const ReviewSections = (props: ReviewSectionsProps) => {
  const { view, refused } = props;
  const sections: readonly Commentable[] = [
    { id: null, title: 'The whole report', required: false, references: [] },
    ...view.sections,
  ];
  const isPlain = ({ id, required }: Commentable): boolean =>
    id !== null &&
    !required &&
    !view.state.missingComments.includes(id) &&
    commentOn(view, id) === undefined &&
    packCommentsOn(view, id).length === 0 &&
    findDraft(view, id) === undefined &&
    refused?.values.section !== id;
  // Whether there is nothing to read or write. Only the whole report, which has no figures, can be empty.
  const isEmpty = ({ id }: Commentable): boolean =>
    id === null &&
    commentOn(view, id) === undefined &&
    packCommentsOn(view, id).length === 0 &&
    !(props.isOpen && canAct(props.layout));
  const plain = sections.filter(isPlain);
  return (
    <>
      <ul class="entries commented">
        {sections
          .filter((section) => !isPlain(section) && !isEmpty(section))
          .map((section) => (
            <SectionEntry {...props} section={section} />
          ))}
      </ul>
      {plain.length === 0 ? null : (
        <details class="fold">
          <summary>{formatCounted(plain.length, 'section')} without a comment</summary>
          <ul class="entries commented">
            {plain.map((section) => (
              <SectionEntry {...props} section={section} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
};

const commentOn = (view: ReviewView, section: string | null) =>
  view.state.comments.find((comment) => comment.section === section && comment.value === undefined);

/** The comments on single packs. Each replaces the comment for all packs. */
const packCommentsOn = (view: ReviewView, section: string | null) =>
  view.state.comments.filter((comment) => comment.section === section && comment.value !== undefined);

const findDraft = (view: ReviewView, section: string | null): CarriedComment | undefined =>
  view.drafts.find((draft) => draft.section === section);

const SectionEntry = ({
  layout,
  view,
  zone,
  isOpen,
  draft: wanted,
  refused,
  section,
}: ReviewSectionsProps & { readonly section: Commentable }) => {
  const { id, title, required, references } = section;
  const comment = commentOn(view, id);
  const carried = findDraft(view, id);
  const isMissing = id !== null && view.state.missingComments.includes(id);
  const key = sectionKey(id);
  return (
    <li id={`comment-${key}`}>
      <p class="item-head">
        <strong>{title}</strong>
        {isMissing ? (
          <span class="state warn">Comment missing</span>
        ) : required ? (
          <span class="muted">comment required</span>
        ) : null}
      </p>
      {quotableFigures(references).length === 0 ? null : (
        <FigureTable caption={`Figures of ${title}`} references={references} />
      )}
      {[...(comment === undefined ? [] : [comment]), ...packCommentsOn(view, id)].map(
        ({ value, text, by, at, version }) => (
          <div class="printed-comment">
            {value === undefined ? null : <p class="muted">In the pack of {value}:</p>}
            <CommentText text={text} sections={view.sections} />
            <p class="muted">
              {by.name}, <When at={at} zone={zone} />
              {version === 1 ? null : `, version ${version}`}
            </p>
          </div>
        ),
      )}
      {comment !== undefined || carried === undefined || !isOpen ? null : (
        <div class="carried">
          <p>
            <span class="state idle">Draft</span>{' '}
            <strong>
              {carried.kind === 'actions' ? 'Open actions ' : null}of {carried.period}
            </strong>
            , by {carried.author}. Not printed in this period.
          </p>
          <p class="quote typed">{carried.text}</p>
          {canAct(layout) && wanted !== key ? (
            <p class="more">
              <a class="button" href={`/runs/${view.record.id}?draft=${encodeURIComponent(key)}#comment-${key}`}>
                Begin with this draft
              </a>
            </p>
          ) : null}
        </div>
      )}
      {isOpen && canAct(layout) ? (
        <CommentForm
          layout={layout}
          run={view.record.id}
          approvable={view.state.need > 0}
          section={id}
          title={title}
          values={view.packs.flatMap(({ value, held }) => (held === null ? [value] : []))}
          text={comment?.text ?? null}
          draft={wanted === key ? carried : undefined}
          refused={refused}
        />
      ) : null}
    </li>
  );
};

interface CommentTextProps {
  /** The text as it was typed. */
  readonly text: string;
  readonly sections: ReviewView['sections'];
}

/** A comment as the pack prints it: its blocks, with references replaced by figures. */
const CommentText = ({ text, sections }: CommentTextProps) => {
  const quote = figureQuoter(sections);
  return (
    <>
      {parseComment(text).map((block) => {
        if (block.kind === 'paragraph') {
          return (
            <p>
              <Spans spans={block.spans} quote={quote} />
            </p>
          );
        }
        const items = block.items.map((spans) => (
          <li>
            <Spans spans={spans} quote={quote} />
          </li>
        ));
        return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
      })}
    </>
  );
};

interface SpansProps {
  readonly spans: readonly CommentSpan[];
  readonly quote: (text: string) => string;
}

const Spans = ({ spans, quote }: SpansProps) => (
  <>
    {spans.map(({ text, emphasis }) => {
      const printed = quote(text);
      if (emphasis === undefined) return printed;
      return emphasis === 'em' ? <em>{printed}</em> : <strong>{printed}</strong>;
    })}
  </>
);

type References = ReviewView['sections'][number]['references'];

/** The endings of a reference that quote something other than the figure itself. */
const ASPECTS = ['change', 'previous', 'status'] as const;
type Aspect = (typeof ASPECTS)[number];

/** One figure of a section, and everything about it that can be quoted, in the form that the pack prints. */
interface QuotableFigure {
  /** What to type: `{{ onboarding.profiles.created }}`. */
  readonly reference: string;
  /** Made of the names of its metric and groups. */
  readonly label: string;
  readonly value: string;
  readonly aspects: Readonly<Partial<Record<Aspect, string>>>;
}

/** The figures of a section in order, with their changes and statuses. */
function quotableFigures(references: References): readonly QuotableFigure[] {
  const figures = new Map<
    string,
    { reference: string; label: string; value: string; aspects: Partial<Record<Aspect, string>> }
  >();
  for (const { reference, label, text } of references) {
    const path = /^\{\{\s*(.+?)\s*\}\}$/.exec(reference)?.[1] ?? reference;
    const aspect = ASPECTS.find((each) => path.endsWith(`.${each}`) && figures.has(path.slice(0, -each.length - 1)));
    const figure = aspect === undefined ? undefined : figures.get(path.slice(0, -aspect.length - 1));
    if (aspect === undefined || figure === undefined) figures.set(path, { reference, label, value: text, aspects: {} });
    else figure.aspects[aspect] = text;
  }
  return [...figures.values()];
}

interface FigureTableProps {
  readonly caption: string;
  readonly references: References;
}

/** The figures of a section, each with the reference that quotes it. */
const FigureTable = ({ caption, references }: FigureTableProps) => {
  const figures = quotableFigures(references);
  if (figures.length === 0) return null;
  const shown = ASPECTS.filter((aspect) => figures.some(({ aspects }) => aspects[aspect] !== undefined));
  return (
    <Table
      caption={caption}
      columns={['Figure', 'Value', ...shown.map((aspect) => ASPECT_LABELS[aspect])]}
      classes={{ Value: 'number', Change: 'number', Before: 'number' }}
      class="figures"
    >
      {figures.map(({ reference, label, value, aspects }) => (
        <tr>
          <td class="wrap">
            {label} <code>{reference}</code>
          </td>
          <td data-name="Value" class="number">
            <strong>{value}</strong>
          </td>
          {shown.map((aspect) => (
            <td data-name={ASPECT_LABELS[aspect]} class={aspect === 'status' ? undefined : 'number'}>
              {aspects[aspect] ?? '–'}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
};

const ASPECT_LABELS = { change: 'Change', previous: 'Before', status: 'Status' } as const;
