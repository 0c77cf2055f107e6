import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { canonicalHost, isMetadataAddress, isMetadataHost, isPrivateAddress } from '../base/private-address.ts';

/** Which addresses a connection may lead to. Metadata services are refused whatever it says. */
export interface AddressPolicy {
  readonly allowPrivate: boolean;
  /** Told of a private address that is not allowed; it is then connected to all the same. Absent: it is refused. */
  readonly onPrivate?: (host: string, address: string) => void;
  /** The hosts that `allowPrivate` is about; all when absent. */
  readonly concerns?: (host: string) => boolean;
}

/** An address that may not be connected to. Nothing has left. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

const place = (host: string, address: string): string => (host === address ? host : `${host} is ${address}, which`);

/** Why this address may not be connected to; undefined when it may. */
export function addressRefusal(host: string, address: string, policy: AddressPolicy): ForbiddenAddress | undefined {
  if (isMetadataAddress(address) || isMetadataHost(canonicalHost(host))) {
    return new ForbiddenAddress(
      `${place(host, address)} is an address of a metadata service, which no report may be sent to; correct the host`,
    );
  }
  if (policy.allowPrivate || policy.concerns?.(host) === false || !isPrivateAddress(address)) return undefined;
  if (policy.onPrivate === undefined) {
    return new ForbiddenAddress(
      `${place(host, address)} is a private address; write "allow_private: true" into org.yaml if it is right`,
    );
  }
  policy.onPrivate(host, address);
  return undefined;
}

/** The same for a host that is an address: there is nothing to look up then, and so no lookup to refuse it. */
export const literalRefusal = (host: string, policy: AddressPolicy): ForbiddenAddress | undefined =>
  isIP(host) === 0 ? undefined : addressRefusal(host, host, policy);

/** Looks a name up and hands over what may be connected to: what is compared here is what the connection then takes. */
export const guardedLookup =
  (policy: AddressPolicy): LookupFunction =>
  (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const refusals = addresses.map(({ address }) => addressRefusal(host, address, policy));
      const open = addresses.filter((_, index) => refusals[index] === undefined);
      const [first] = open;
      if (first === undefined) return callback(refusals[0] ?? new Error(`${host} has no address`), '');
      if (options.all) return callback(null, open);
      callback(null, first.address, first.family);
    });
  };
