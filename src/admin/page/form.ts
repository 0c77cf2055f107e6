import type { Context } from 'hono';
import type { Env } from '../env.ts';

/** The fields of a form that was sent, each once; files are none of ours. */
export async function fieldsOf(context: Context<Env>): Promise<Readonly<Record<string, string>>> {
  const body = await context.req.parseBody();
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value.slice(0, 2_000)]] : [])),
  );
}

/** A path of ours to go on to; the overview for whatever leads elsewhere. */
export function ownPath(wanted: string | undefined): string {
  const here = 'http://docket.invalid';
  if (wanted === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) || !URL.canParse(wanted, here)) return '/';
  const { origin, pathname, search } = new URL(wanted, here);
  // A path such as `/.//elsewhere` is normalized into one that a browser reads as another host.
  return origin === here && !pathname.startsWith('//') && !pathname.startsWith('/sign-') ? pathname + search : '/';
}
