/** Lower case of ASCII letters alone, as Redis and mail servers do it. JavaScript's makes `k` of the Kelvin sign. */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Text without the characters that NFC turns into ASCII: the Kelvin sign, the Greek question mark and varia. */
const NO_LOOKALIKES = /[^\u212A\u037E\u1FEF]+/g;

/** The same for texts that differ in the case of ASCII letters, or in how an accent is encoded (NFC). Look-alikes stay apart. */
export const foldText = (text: string): string =>
  asciiLowerCase(text.replace(NO_LOOKALIKES, (part) => part.normalize('NFC')));
