import type { CarriedComment, ReviewView } from '../../../../services/reviews/review-service.ts';
import { CommentForm, sectionKey } from '../../forms/comment-form.tsx';
import type { RejectedForm } from '../../forms/reason-form.tsx';
import { formatCounted } from '../format-numbers.ts';
import { canAct, type LayoutData } from '../layout.tsx';
import { When } from '../time.tsx';
import { CommentText } from './comment-text.tsx';
import { FigureTable, quotableFigures } from './figure-table.tsx';

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
    draftOf(view, id) === undefined &&
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

const draftOf = (view: ReviewView, section: string | null): CarriedComment | undefined =>
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
  const carried = draftOf(view, id);
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
