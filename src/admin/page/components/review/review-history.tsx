import type { ReviewView } from '../../../../services/reviews/review-service.ts';
import { formatCounted } from '../format-numbers.ts';
import { Timestamp } from '../time.tsx';

/** All versions of all comments, folded. */
export const CommentHistory = ({ view, zone }: { readonly view: ReviewView; readonly zone: string }) => {
  const titleOf = (section: string | null): string =>
    section === null ? 'The whole report' : (view.sections.find(({ id }) => id === section)?.title ?? section);
  if (view.history.length === 0) return null;
  return (
    <details class="fold">
      <summary>History: {formatCounted(view.history.length, 'version')} of comments</summary>
      <ol class="entries">
        {view.history.map(({ section, text, by, at }) => (
          <li>
            <p>
              <strong>{titleOf(section)}</strong>: {text === null ? 'withdrawn' : 'written'} by {by},{' '}
              <Timestamp at={at} zone={zone} />
            </p>
            {text === null ? null : <p class="quote typed">{text}</p>}
          </li>
        ))}
      </ol>
    </details>
  );
};
