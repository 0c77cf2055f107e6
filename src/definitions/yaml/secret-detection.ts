/** Names of fields for secrets. Their value must be a reference. */
const SECRET_FIELD =
  /^(.*[-_ ])?(api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|passw(or)?d|pass|passphrase|secret|token|credentials?|authorization|bearer)([-_ ]?(value|id))?$/i;

/** Forms of secrets that are searched in all fields. Each is anchored, so that prose does not match. */
const SECRET_PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /^(Api-Key|Bearer|Basic)\s+\S{8,}$/i,
  // A URL with a password.
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  // Tokens that providers mark with a prefix: cloud keys, payment keys, forges, chats, JSON web tokens.
  /^(AKIA|ASIA)[A-Z0-9]{16}$/,
  /^(sk|pk|rk|ghp|gho|ghs|glpat|xox[abps])[-_][A-Za-z0-9_-]{12,}$/,
  /^github_pat_\w{20,}$/,
  /^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/,
];

/** A key of the Compliance Service: a short public prefix, a dot, and the secret (specification §5). */
const API_KEY = /^[A-Za-z0-9_-]{2,16}\.([A-Za-z0-9_-]{16,})$/;

export const isSecretField = (name: string): boolean => SECRET_FIELD.test(name);

/** Whether a value is very likely a secret. */
export function looksLikeSecret(value: string): boolean {
  const text = value.trim();
  if (SECRET_PATTERNS.some((shape) => shape.test(text))) return true;
  const secret = API_KEY.exec(text)?.[1] ?? '';
  // Metric ids and host names have the same form (`profiles.time_to_decision_p50`). But random characters often change
  // between letters and digits, or between upper and lower case. Words do not.
  return (secret.match(/[A-Za-z]\d|\d[A-Za-z]|[a-z][A-Z]/g) ?? []).length >= 4;
}
