import type { ReviewState } from '../../run/review/review-state.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Who decides, as known from the sign-in. Somebody with only a free-text name can approve nothing. */
export interface Reviewer {
  /** `Principal.name`. */
  readonly name: string;
  /** `shell`: a user of the command line without a token, who may comment but never approve. */
  readonly kind: 'token' | 'account' | 'shell';
  /** `Principal.subject`; `shell:<user>`. */
  readonly subject: string;
  /** Client address; absent on the command line. */
  readonly from?: string | undefined;
}

/** A draft from the last period: a whole comment, or the actions in it. It is never printed. */
export interface CarriedComment {
  readonly section: string | null;
  /** `actions`: only the lines that begin with `Action:`. */
  readonly kind: 'comment' | 'actions';
  readonly text: string;
  readonly author: string;
  /** Label of the period for which it was written, and its run. */
  readonly period: string;
  readonly run: string;
}

/** A warning that a typed number contradicts its section's figures. */
export interface CommentWarning {
  /** As typed. */
  readonly number: string;
  readonly text: string;
}

interface NamedPerson {
  /** `Approver.id`. */
  readonly id: string;
  readonly name: string;
}

/** A review as people see it. */
export interface ReviewView {
  readonly state: ReviewState;
  readonly record: RunRecord;
  /** The sections that can have comments, in order, and whether they need one. */
  readonly sections: readonly {
    readonly id: string;
    readonly title: string;
    readonly required: boolean;
    /**
     * References that a comment may use, e.g. `{{ onboarding.profiles.created }}`, by name, with the text that they
     * print.
     */
    readonly references: readonly { readonly reference: string; readonly label: string; readonly text: string }[];
  }[];
  readonly drafts: readonly CarriedComment[];
  /** Names of the rendered files of `state.content`. Empty until the worker has made them. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
  /** With `split`: what each pack says, once the worker has made the files. */
  readonly packs: readonly {
    readonly value: string;
    readonly label: string;
    readonly slug: string;
    readonly headlines: readonly string[];
    /** Why nobody gets the pack; null if somebody does. */
    readonly held: string | null;
  }[];
  /** When `within` ends, epoch ms; null without it. */
  readonly due: number | null;
  /** The printed names of people who may approve now; deputies as `X for Y`. */
  readonly reviewers: readonly string[];
  /**
   * The people whom the current reviewer may name as deputies, for each approver. Empty unless something waits for
   * approval.
   */
  readonly deputies: readonly { readonly from: NamedPerson; readonly to: readonly NamedPerson[] }[];
  /** Why the current reviewer may not approve; null if they may. */
  readonly refusal: string | null;
  /** Whether the current reviewer may reject. Everybody whom the report names may, whatever they have written. */
  readonly canReject: boolean;
  /**
   * One sentence about what another run has delivered for the period: approving this run then needs confirmation. Null
   * if nothing was delivered, or if no decision is pending.
   */
  readonly delivered: string | null;
  /** All versions of all comments, oldest first. */
  readonly history: readonly {
    readonly section: string | null;
    readonly value?: string;
    readonly text: string | null;
    readonly by: string;
    readonly at: number;
  }[];
}

const removeSpaces = (reference: string): string => reference.replaceAll(/\s+/g, '');

/**
 * Prints a text with the figures that its references name, however they are spaced. Leaves unknown references
 * unchanged.
 */
export function figureQuoter(sections: ReviewView['sections']): (text: string) => string {
  const figures = new Map(
    sections.flatMap(({ references }) => references.map(({ reference, text }) => [removeSpaces(reference), text])),
  );
  return (text) => text.replaceAll(/\{\{[^{}]*\}\}/g, (reference) => figures.get(removeSpaces(reference)) ?? reference);
}
