/**
 * Credentials that are known by their form alone: those that are made for one request, and are worth nothing to remember.
 * Each pattern takes linear time, whatever the text is.
 */
const SHAPES: readonly (readonly [shape: RegExp, instead: string])[] = [
  [
    /\b(X-Amz-(?:Signature|Security-Token|Credential)|Signature|access_token|refresh_token|id_token)(=|%3D|["']?: ?["']?)[\w%.~+/=-]{16,}/gi,
    '$1$2[secret]',
  ],
  // A digit, or "Basic authentication…" would be one.
  [/\b(Bearer|Basic|Api-Key|Negotiate)([ \t]{1,4})(?=\S*\d)[\w+/.~=-]{16,}/gi, '$1$2[secret]'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, '[secret]'],
  [/\b((?:Set-)?Cookie:)[^\r\n]+/gi, '$1 [secret]'],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END[^-]*-----|$)/g, '[secret]'],
  [/\bdocket_[\w-]{43}/g, '[secret]'],
  [/\bwhsec_[A-Za-z0-9+/]{20,}={0,2}/g, '[secret]'],
];

export const hideCredentialShapes = (text: string): string =>
  SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text);
