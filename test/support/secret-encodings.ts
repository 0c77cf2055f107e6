/** How a peer may repeat what it was told: every way is one that a protocol of Docket or a careless server uses. */
export function encodingsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const percent = (text: string) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const folded = (text: string, with_: string) =>
    `${text.slice(0, text.length / 2)}${with_}${text.slice(text.length / 2)}`;
  return {
    raw: secret,
    JSON: JSON.stringify(secret).slice(1, -1),
    'JSON with each character escaped': [...secret]
      .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
    'JSON with escaped slashes': JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    URL: encodeURIComponent(secret),
    'URL in lower case': encodeURIComponent(secret).replaceAll(/%../g, (found) => found.toLowerCase()),
    'URL with each byte escaped': percent(secret),
    'URL of a URL': encodeURIComponent(encodeURIComponent(secret)),
    form: new URLSearchParams({ '': secret }).toString().slice(1),
    HTML: secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    'HTML with each character escaped': [...secret].map((character) => `&#${character.codePointAt(0)};`).join(''),
    'quoted-printable': [...bytes]
      .map((byte) =>
        /[!-<>-~]/.test(String.fromCharCode(byte))
          ? String.fromCharCode(byte)
          : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
      )
      .join('')
      .replaceAll(/.{60}(?!=|.?$)(?<!=.?)/g, '$&=\r\n'),
    base64: base64(secret),
    'base64 without padding': base64(secret).replaceAll('=', ''),
    base64url: bytes.toString('base64url'),
    'base64 in JSON': base64(secret).replaceAll('/', '\\/'),
    'base64 in a URL': encodeURIComponent(base64(secret)),
    'base64 in lines': base64(secret).replaceAll(/.{20}/g, '$&\r\n'),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    'AUTH PLAIN': base64(`\0me\0${secret}`),
    'AUTH PLAIN of another': base64(`\0you\0${secret}`),
    Basic: `Basic ${base64(`user:${secret}`)}`,
    'Basic of another': `Basic ${base64(`users:${secret}`)}`,
    XOAUTH2: base64(`user=me\x01auth=Bearer ${secret}\x01\x01`),
    Bearer: `Bearer ${secret}`,
    'UTF-8 read as Latin-1': bytes.toString('latin1'),
    'UTF-16': Buffer.from(secret, 'utf16le').toString('latin1'),
    'an SMTP reply of two lines': folded(secret, '\r\n250-'),
    'an SMTP reply of two lines with codes': folded(secret, '\r\n535-5.7.8 '),
    'AUTH PLAIN in two lines': folded(base64(`\0me\0${secret}`), '\r\n535 5.7.8 '),
    'a folded header': folded(secret, '\r\n\t'),
  };
}

/** The encodings in which a text repeats the secret, or a good part of it. */
export function encodingsFoundIn(text: string, secret: string): string[] {
  const seen = decodedLikeAReader(text);
  const parts = secret.includes('\n') ? secret.split('\n').filter((line) => !line.startsWith('-----')) : [secret];
  return Object.entries(encodingsOf(secret))
    .flatMap(([encoding, echo]) => (text.includes(echo) ? [encoding] : []))
    .concat(parts.filter((part) => seen.some((view) => view.includes(part))).map(() => 'decoded'));
}

/** Written without a line of what it tests: the text, and its content once decoded. */
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
    text.replaceAll(/[\r\n]+(\d{3}[ -](\d\.\d\.\d )?)?[ \t]*/g, ''),
    text.replaceAll('\0', ''),
    ...attempt(() => decodeURIComponent(text)),
    ...attempt(() => JSON.parse(`"${text.replaceAll(/(?<!\\)"/g, '\\"')}"`)),
    ...(text.match(/[0-9a-f]{12,}/gi) ?? []).map((run) => Buffer.from(run, 'hex').toString('utf8')),
    ...base64,
  ];
}
