import type { ReviewState } from '../../run/review/review-state.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Who decides, as the sign-in knows them: a free-text name approves nothing. */
export interface Reviewer {
  /** `Principal.name`. */
  readonly name: string;
  /** `shell`: a user of the command line without a token, who may comment and never approve. */
  readonly kind: 'token' | 'account' | 'shell';
  /** `Principal.subject`; `shell:<user>`. */
  readonly subject: string;
  /** Client address; absent on the command line. */
  readonly from?: string | undefined;
}

/** A comment of the last period, or the actions that it asks for, offered as a draft. It is never printed. */
export interface CarriedComment {
  readonly section: string | null;
  /** `actions`: only its lines that begin with `Action:`. */
  readonly kind: 'comment' | 'actions';
  readonly text: string;
  readonly author: string;
  /** Label of the period that it was written for, and its run. */
  readonly period: string;
  readonly run: string;
}

/** A warning that a typed number contradicts the figures of its section. */
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

/** What people see of a review. */
export interface ReviewView {
  readonly state: ReviewState;
  readonly record: RunRecord;
  /** The sections that can be commented, in order, with whether they need it. */
  readonly sections: readonly {
    readonly id: string;
    readonly title: string;
    readonly required: boolean;
    /** References that a comment may use, e.g. `{{ onboarding.profiles.created }}`, by name, with the text they print. */
    readonly references: readonly { readonly reference: string; readonly label: string; readonly text: string }[];
  }[];
  readonly drafts: readonly CarriedComment[];
  /** Names of the rendered files of `state.content`, once the worker has made them. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
  /** Of a report with `split`, once the worker has made the files: what each pack says. */
  readonly packs: readonly {
    readonly value: string;
    readonly label: string;
    readonly slug: string;
    readonly headlines: readonly string[];
    /** Why nobody gets it; null where somebody does. */
    readonly held: string | null;
  }[];
  /** Epoch ms at which `within` ends; null without it. */
  readonly due: number | null;
  /** Who may approve now, by printed name; deputies as `X for Y`. */
  readonly reviewers: readonly string[];
  /** Whom the asking reviewer may name as deputies, for each approver; empty where nothing waits for approval. */
  readonly deputies: readonly { readonly from: NamedPerson; readonly to: readonly NamedPerson[] }[];
  /** Why the asking reviewer may not approve; null where they may. */
  readonly refusal: string | null;
  /** Whether the asking reviewer may reject: the report names them, whatever they have written. */
  readonly canReject: boolean;
  /**
   * What another run has delivered for the period, as a sentence: the approver of this one has to insist. Null where nothing
   * was delivered, or no decision is awaited any more.
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

const keyOf = (reference: string): string => reference.replaceAll(/\s+/g, '');

/** Prints a text with the figures that its references name, however they are spaced. Unknown references stay. */
export function figureQuoter(sections: ReviewView['sections']): (text: string) => string {
  const figures = new Map(
    sections.flatMap(({ references }) => references.map(({ reference, text }) => [keyOf(reference), text])),
  );
  return (text) => text.replaceAll(/\{\{[^{}]*\}\}/g, (reference) => figures.get(keyOf(reference)) ?? reference);
}
