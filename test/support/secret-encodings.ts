/** The ways in which a peer may repeat a secret. Each one exists in a protocol of Docket or a common library. */
export function encodingsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const html = (text: string, double: string, single: string) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', double)
      .replaceAll("'", single);
  return {
    raw: secret,
    JSON: json,
    'JSON in ASCII': json.replaceAll(
      /[^ -~]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    'JSON with escaped slashes': json.replaceAll('/', '\\/'),
    URL: encodeURIComponent(secret),
    'URL in lower case': encodeURIComponent(secret).replaceAll(/%../g, (found) => found.toLowerCase()),
    'path of a URL': encodeURIComponent(secret).replaceAll('%2F', '/').replaceAll("'", '%27'),
    form: new URLSearchParams({ '': secret }).toString().slice(1),
    HTML: html(secret, '&quot;', '&#39;'),
    'HTML by Go': html(secret, '&#34;', '&#39;'),
    'HTML by Python': html(secret, '&quot;', '&#x27;'),
    'HTML text': html(secret, '"', "'"),
    base64: base64(secret),
    'base64 without padding': base64(secret).replaceAll('=', ''),
    base64url: bytes.toString('base64url'),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    'AUTH PLAIN': base64(`\0me\0${secret}`),
    'AUTH PLAIN of another': base64(`\0you\0${secret}`),
    Basic: `Basic ${base64(`user:${secret}`)}`,
    'Basic of another': `Basic ${base64(`users:${secret}`)}`,
    XOAUTH2: base64(`user=me\x01auth=Bearer ${secret}\x01\x01`),
    Bearer: `Bearer ${secret}`,
    'UTF-8 read as Latin-1': bytes.toString('latin1'),
  };
}

/** The encodings in which a text repeats the secret or a large part of it. */
export function encodingsFoundIn(text: string, secret: string): string[] {
  const seen = decodedLikeAReader(text);
  const parts = secret.includes('\n') ? secret.split('\n').filter((line) => !line.startsWith('-----')) : [secret];
  return Object.entries(encodingsOf(secret))
    .flatMap(([encoding, echo]) => (text.includes(echo) ? [encoding] : []))
    .concat(parts.filter((part) => seen.some((view) => view.includes(part))).map(() => 'decoded'));
}

/** The text and its decoded content, without using any code under test. */
function decodedLikeAReader(text: string): string[] {
  const attempt = (read: () => string): string[] => {
    try {
      return [read()];
    } catch {
      return [];
    }
  };
  const base64 = (text.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('utf8')),
  );
  return [
    text,
    ...attempt(() => decodeURIComponent(text)),
    ...attempt(() => JSON.parse(`"${text.replaceAll(/(?<!\\)"/g, '\\"')}"`)),
    ...(text.match(/[0-9a-f]{12,}/gi) ?? []).map((run) => Buffer.from(run, 'hex').toString('utf8')),
    ...base64,
  ];
}
