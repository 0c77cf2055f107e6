import { BlockList, isIP } from 'node:net';

/** A list of addresses and networks. */
export interface AddressList {
  /** The text as configured. */
  readonly text: string;
  /** Whether the address is in the list. False for invalid addresses. */
  has(address: string): boolean;
}

export const NO_ADDRESSES: AddressList = Object.freeze({ text: '', has: () => false });

/**
 * Parses comma-separated addresses and CIDR networks, e.g. `10.0.0.0/8, ::1`. Returns the first invalid part as `got`.
 */
export function parseAddressList(text: string): AddressList | { readonly got: string } {
  const list = new BlockList();
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
    const version = isIP(address);
    const maxPrefix = version === 6 ? 128 : 32;
    if (version === 0 || Number(bits ?? 0) > maxPrefix) return { got: part };
    list.addSubnet(address, Number(bits ?? maxPrefix), version === 6 ? 'ipv6' : 'ipv4');
  }
  return Object.freeze({
    text,
    has: (address: string) => {
      const version = isIP(address);
      return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
    },
  });
}
