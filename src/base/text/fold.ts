/**
 * Lower case for ASCII letters only, as in Redis and mail servers. JavaScript's own function turns the Kelvin sign into
 * `k`.
 */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/**
 * Matches text without the characters that NFC turns into ASCII: the Kelvin sign, the Greek question mark and varia.
 */
const NO_LOOKALIKES = /[^\u212A\u037E\u1FEF]+/g;

/**
 * The same result for texts that differ only in the case of ASCII letters, or in the encoding of accents (NFC).
 * Look-alikes stay different.
 */
export const foldText = (text: string): string =>
  asciiLowerCase(text.replace(NO_LOOKALIKES, (part) => part.normalize('NFC')));
