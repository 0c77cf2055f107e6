import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isMetadataAddress, isMetadataHost, isPrivateAddress, normalizeHost } from '../../base/net/private-address.ts';

/** Which addresses a connection may use. Metadata services are always refused. */
export interface AddressPolicy {
  readonly allowPrivate: boolean;
  /** Called for a private address, which is then allowed. Absent: private addresses are refused. */
  readonly onPrivate?: (host: string, address: string) => void;
  /** Which hosts are restricted to public addresses. Absent: all of them. */
  readonly appliesTo?: (host: string) => boolean;
}

/** The address is refused, and nothing was sent. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

const describeAddress = (host: string, address: string): string =>
  host === address ? host : `${host} is ${address}, which`;

/** Why an address is refused; undefined when it is allowed. */
export function addressRefusal(host: string, address: string, policy: AddressPolicy): ForbiddenAddress | undefined {
  if (isMetadataAddress(address) || isMetadataHost(normalizeHost(host))) {
    return new ForbiddenAddress(
      `${describeAddress(host, address)} is an address of a metadata service, which is never allowed; correct the host`,
    );
  }
  if (policy.allowPrivate || policy.appliesTo?.(host) === false || !isPrivateAddress(address)) return undefined;
  if (policy.onPrivate === undefined) {
    return new ForbiddenAddress(
      `${describeAddress(host, address)} is a private address; set "allow_private: true" in org.yaml if this is intended`,
    );
  }
  policy.onPrivate(host, address);
  return undefined;
}

/** Why a host that is an IP address is refused. Such a host skips the lookup, where other hosts are checked. */
export const literalRefusal = (host: string, policy: AddressPolicy): ForbiddenAddress | undefined =>
  isIP(host) === 0 ? undefined : addressRefusal(host, host, policy);

/**
 * Throws `ForbiddenAddress` before the proxy is used, if this machine resolves the host to a refused address. A name
 * that only the proxy can resolve passes: the proxy must refuse addresses of its own network.
 */
export async function assertAllowedBehindProxy(host: string, policy: AddressPolicy): Promise<void> {
  if (isMetadataHost(normalizeHost(host))) throw addressRefusal(host, '', policy);
  const refused = literalRefusal(host, policy);
  if (refused !== undefined) throw refused;
  if (isIP(host) !== 0) return;
  await new Promise<void>((resolve, reject) => {
    guardedLookup(policy)(host, { all: true }, (error) => {
      if (error instanceof ForbiddenAddress) reject(error);
      else resolve();
    });
  });
}

/**
 * A DNS lookup that returns only allowed addresses. The connection uses this result, so a DNS change in between has no
 * effect.
 */
export const guardedLookup =
  (policy: AddressPolicy): LookupFunction =>
  (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const refusals = addresses.map(({ address }) => addressRefusal(host, address, policy));
      const allowed = addresses.filter((_, index) => refusals[index] === undefined);
      const [first] = allowed;
      if (first === undefined) return callback(refusals[0] ?? new Error(`${host} has no address`), '');
      if (options.all) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
