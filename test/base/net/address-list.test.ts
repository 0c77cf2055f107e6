import { describe, expect, it } from 'vitest';
import { NO_ADDRESSES, parseAddressList } from '../../../src/base/net/address-list.ts';

const listOf = (text: string) => {
  const list = parseAddressList(text);
  if (!('has' in list)) throw new Error(`"${list.got}" is no address`);
  return list;
};

describe('a list of addresses', () => {
  it.each([
    ['10.0.0.0/8, ::1', '10.9.8.7', true],
    ['10.0.0.0/8, ::1', '11.0.0.1', false],
    ['10.0.0.0/8, ::1', '::1', true],
    ['192.0.2.4', '192.0.2.4', true],
    ['192.0.2.4', '192.0.2.5', false],
    ['2001:db8::/32', '2001:db8:1::5', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['0.0.0.0/0', 'unknown', false],
  ])('%s contains %s: %s', (text, address, has) => {
    expect(listOf(text).has(address)).toBe(has);
  });

  it.each(['10.0.0.0/33', 'localhost', '10.0.0.1,', '::1/129', '10.0.0.0/8/8', '10.0.0.1:80'])('refuses %s', (text) => {
    expect(parseAddressList(text)).toEqual({ got: expect.any(String) });
  });

  it('may be empty', () => {
    expect(NO_ADDRESSES.has('127.0.0.1')).toBe(false);
  });
});
