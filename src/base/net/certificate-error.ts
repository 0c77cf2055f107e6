/** Why a server's certificate is not accepted, as the end of a sentence, and what to do. */
export interface CertificateFault {
  /** E.g. `has expired`. */
  readonly what: string;
  readonly next: string;
}

const RENEW = 'Its operator has to renew it. Until then nothing can be sent to it or requested from it.';
const UNTRUSTED =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|CERT_(UNTRUSTED|SIGNATURE|CHAIN|REVOKED|REJECTED))/;

/** Why a connection failed because of a certificate; undefined for another failure. @param code Node.js's error code */
export function certificateFault(code: string): CertificateFault | undefined {
  if (code === 'CERT_HAS_EXPIRED') return { what: 'has expired', next: RENEW };
  if (code === 'CERT_NOT_YET_VALID')
    return {
      what: 'is not valid yet',
      next: 'Correct the clock of this machine, or wait until the certificate is valid.',
    };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: 'is for another name',
      next: 'Correct the host, or let its operator issue a certificate for this name.',
    };
  if (!UNTRUSTED.test(code)) return undefined;
  return {
    what: 'is not trusted',
    next: 'For a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file. Otherwise its operator has to install the intermediate certificates.',
  };
}

/** Certificate errors in the words of libraries that drop the code, with Node.js's code. */
const SENTENCES: readonly (readonly [RegExp, code: string])[] = [
  [/certificate has expired/i, 'CERT_HAS_EXPIRED'],
  [/certificate is not yet valid/i, 'CERT_NOT_YET_VALID'],
  [/does not match certificate's altnames/i, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [
    /self-signed certificate|unable to (get (local )?issuer certificate|verify the first certificate)/i,
    'CERT_UNTRUSTED',
  ],
];

/** The reason why a server was not used. If it concerns the certificate, adds what to do. */
export function withCertificateAdvice(reason: string): string {
  const [, code] = SENTENCES.find(([sentence]) => sentence.test(reason)) ?? [];
  const fault = code === undefined ? undefined : certificateFault(code);
  return fault === undefined ? reason : `${reason.replace(/\.$/, '')}. ${fault.next}`;
}
