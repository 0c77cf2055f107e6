import { sha256 } from '../../base/sha256.ts';
import { canonicalJson } from '../../plan/requests/call.ts';
import type { ReviewComment } from './review-state.ts';

/**
 * SHA-256 (hex) of what people approve: the figures with everything frozen, and each comment with its author, time and
 * version. Equal for equal content, on every machine.
 */
export const contentHash = (figures: string, comments: readonly ReviewComment[]): string =>
  sha256(
    canonicalJson({
      figures,
      comments: comments.map(({ section, text, by: { person, name, principal }, at, version }) => ({
        section,
        text,
        by: { person, name, principal },
        at,
        version,
      })),
    }),
  );
