/** A form of a page, with the fields that a program can fill in. */
export interface FoundForm {
  readonly method: string;
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface ScannedRequest {
  readonly method: string;
  readonly url: string;
  readonly status: number;
}

/** Sends a request without following redirects. */
export type ScannerFetch = (method: string, url: URL, fields?: Readonly<Record<string, string>>) => Promise<Response>;

const plain = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`, 'i').exec(tag)?.[1];
  return value === undefined ? undefined : plain(value);
};

/** The addresses in a text or a page: links, pictures, frames, and addresses in the text. */
export const linksOf = (text: string): string[] => [
  ...[...text.matchAll(/\s(?:href|src|content)="([^"]*)"/gi)].map(([, to = '']) =>
    plain(to).replace(/^\d+;\s*url=/i, ''),
  ),
  ...[...text.matchAll(/https?:\/\/[^\s<>"')\]]+/gi)].map(([to]) => plain(to)),
];

export const formsOf = (html: string, page: string): FoundForm[] =>
  [...html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/gi)].map(([form]) => {
    const [open = ''] = /<form\b[^>]*>/i.exec(form) ?? [];
    const fields: Record<string, string> = {};
    for (const [tag] of form.matchAll(/<(?:input|textarea|select|button)\b[^>]*>/gi)) {
      const name = attribute(tag, 'name');
      // Empty fields get a value, as scanners do it.
      if (name !== undefined) fields[name] = attribute(tag, 'value') || 'test';
    }
    return {
      method: (attribute(open, 'method') ?? 'get').toUpperCase(),
      action: attribute(open, 'action') ?? page,
      fields,
    };
  });

const MAX_REQUESTS = 200;

/**
 * Acts like a mail scanner, and goes further: it follows every link of the message and of the pages behind it on the same
 * server, and submits every form, without a session.
 */
export async function scanMail(
  texts: readonly string[],
  { origin, send }: { readonly origin: string; readonly send: ScannerFetch },
): Promise<readonly ScannedRequest[]> {
  const requests: ScannedRequest[] = [];
  const seen = new Set<string>();
  const queue: { readonly method: string; readonly url: URL; readonly fields?: FoundForm['fields'] }[] = [];
  const add = (method: string, to: string, base: string, fields?: FoundForm['fields']): void => {
    if (!URL.canParse(to, base)) return;
    const url = new URL(to, base);
    const key = JSON.stringify([method, url.href, fields]);
    if (url.origin !== origin || seen.has(key)) return;
    seen.add(key);
    queue.push(fields === undefined ? { method, url } : { method, url, fields });
  };
  const read = (text: string, base: string): void => {
    for (const link of linksOf(text)) for (const method of ['GET', 'HEAD']) add(method, link, base);
    for (const { method, action, fields } of formsOf(text, base)) add(method, action, base, fields);
  };
  for (const text of texts) read(text, origin);
  for (let next = queue.shift(); next !== undefined && requests.length < MAX_REQUESTS; next = queue.shift()) {
    const { method, url, fields } = next;
    const answer = await send(method, url, fields);
    requests.push({ method, url: url.href, status: answer.status });
    const location = answer.headers.get('location');
    if (location !== null) add('GET', location, url.href);
    if (method !== 'HEAD' && answer.headers.get('content-type')?.startsWith('text/html') === true)
      read(await answer.text(), url.href);
  }
  return requests;
}
