import { BlockList, isIP } from 'node:net';

/** Addresses and networks that somebody named. */
export interface AddressList {
  /** As they were written. */
  readonly text: string;
  /** Whether the address is one of them. What is no address is not. */
  has(address: string): boolean;
}

/** No address at all. */
export const NO_ADDRESSES: AddressList = Object.freeze({ text: '', has: () => false });

/** Addresses and CIDR networks with commas, e.g. `10.0.0.0/8, ::1`; or the first part that is neither. */
export function readAddressList(text: string): AddressList | { readonly got: string } {
  const list = new BlockList();
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    if (version === 0 || Number(bits ?? 0) > most) return { got: part };
    list.addSubnet(address, Number(bits ?? most), version === 6 ? 'ipv6' : 'ipv4');
  }
  return Object.freeze({
    text,
    has: (address: string) => {
      const version = isIP(address);
      return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
    },
  });
}
