/** The access key of the test store. */
export const ACCESS_KEY_ID = 'AKIDTESTTESTTESTTEST';
export const SECRET_ACCESS_KEY = 'test/secret+key/of/the/store/0123456789a';
