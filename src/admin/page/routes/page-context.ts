import type { Context } from 'hono';
import { DocketError } from '../../../base/error.ts';
import type { Access } from '../../access/access.ts';
import { reasonSchema } from '../../api/openapi-helpers.ts';
import type { Env } from '../../hono-env.ts';
import type { ZoneSubject } from '../components/header/zone-choice.tsx';
import type { LayoutData } from '../components/layout.tsx';

/** What all handlers of the page share. */
export interface PageContext {
  readonly access: (context: Context<Env>) => Access;
  /**
   * @param access that of the same request
   * @param subject what the page is about, which determines its zone
   */
  readonly layout: (context: Context<Env>, access: Access, subject?: ZoneSubject) => Promise<LayoutData>;
  /** Epoch ms. */
  readonly now: () => number;
}

/** The HTML of a document. @param element of hono/jsx */
export const renderDocument = async (element: unknown): Promise<string> => `<!DOCTYPE html>${String(await element)}`;

/** Fields of a form that can have several values, e.g. checkboxes. */
const LIST_FIELDS: ReadonlySet<string> = new Set(['delivery', 'run', 'also', 'except']);

/**
 * Fields with several lines of text. Their cut is longer than any accepted text, so a text that is too long is refused,
 * not cut.
 */
const LONG_FIELDS: ReadonlySet<string> = new Set(['text']);
const MAX_FIELD_LENGTH = 2_000;
const MAX_LONG_FIELD_LENGTH = 20_000;

/** The text fields of a form, without files. Several values of a list are joined with commas. */
export async function readFormFields(context: Context<Env>): Promise<Readonly<Record<string, string>>> {
  const body = await context.req.parseBody({ all: true });
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const texts = [value].flat().filter((each) => typeof each === 'string');
      const last = texts.at(-1);
      if (last === undefined) return [];
      if (LIST_FIELDS.has(name)) return [[name, texts.join(',')]];
      return [[name, last.slice(0, LONG_FIELDS.has(name) ? MAX_LONG_FIELD_LENGTH : MAX_FIELD_LENGTH)]];
    }),
  );
}

/** A path on this server to redirect to. Any other address becomes the overview. */
export function safeRedirectPath(target: string | undefined): string {
  const base = 'http://docket.invalid';
  if (target === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(target) || !URL.canParse(target, base)) return '/';
  const { origin, pathname, search } = new URL(target, base);
  // A path such as `/.//elsewhere` is normalized to one that browsers read as another host.
  return origin === base && !pathname.startsWith('//') && !pathname.startsWith('/sign-') ? pathname + search : '/';
}

/**
 * The address of the page that a request shows. After a rejected form it is the address of the form's page, which GET
 * accepts.
 */
export function selfPath({ req }: Context<Env>): string {
  const { pathname, searchParams } = new URL(req.url);
  if (pathname === '/selections') return '/runs';
  if (pathname.startsWith('/denied')) return '/denied';
  if (req.method !== 'GET')
    return pathname.startsWith('/organizations/') ? '/pauses' : pathname.replace(/\/[^/]*$/, '');
  // These parameters only carry the result of the last action.
  searchParams.delete('did');
  searchParams.delete('delivery');
  searchParams.delete('doubt');
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/** The error for a form with a missing field. */
export const incompleteForm = (message: string, expected: string): DocketError =>
  new DocketError('usage.invalid', message, { expected, next: 'Fill it in and send the form again.' });

/** Throws `usage.invalid`. */
export function parseReason(reason: string | undefined): string {
  const parsed = reasonSchema.safeParse(reason);
  if (parsed.success) return parsed.data;
  throw incompleteForm('A reason is required.', 'one line of 1 to 500 characters');
}
