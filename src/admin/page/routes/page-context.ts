import type { Context } from 'hono';
import type { Access } from '../../access/access.ts';
import type { Env } from '../../hono-env.ts';
import type { LayoutData } from '../components/layout.tsx';

/** What handlers of the page are given beside the request. */
export interface PageContext {
  readonly access: (context: Context<Env>) => Access;
  /** What stands around the page. @param access as of this request */
  readonly frame: (context: Context<Env>, access: Access) => Promise<LayoutData>;
  /** Epoch ms. */
  readonly now: () => number;
}

/** A document as it is sent. @param element of hono/jsx, whose text it is */
export const renderDocument = async (element: unknown): Promise<string> => `<!DOCTYPE html>${String(await element)}`;

/** The fields of a form that was sent, each once; files are none of ours. */
export async function readFormFields(context: Context<Env>): Promise<Readonly<Record<string, string>>> {
  const body = await context.req.parseBody();
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value.slice(0, 2_000)]] : [])),
  );
}

/** A path of ours to go on to; the overview for whatever leads elsewhere. */
export function safeRedirectPath(wanted: string | undefined): string {
  const here = 'http://docket.invalid';
  if (wanted === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) || !URL.canParse(wanted, here)) return '/';
  const { origin, pathname, search } = new URL(wanted, here);
  // A path such as `/.//elsewhere` is normalized into one that a browser reads as another host.
  return origin === here && !pathname.startsWith('//') && !pathname.startsWith('/sign-') ? pathname + search : '/';
}
