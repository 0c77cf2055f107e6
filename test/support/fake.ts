/**
 * An object of which a test needs some members only. Using another one fails, and names it.
 *
 * @param parts `T` is the type that is expected where the result is used
 */
export const fake = <T extends object>(parts: NoInfer<Partial<T>>): T =>
  new Proxy<object>(parts, {
    get: (target, name, receiver) =>
      name in target || typeof name === 'symbol' || name === 'then' || name === 'toJSON'
        ? Reflect.get(target, name, receiver)
        : missing(name),
  }) as T;

/** A factory may take a member that is not used in the test. */
function missing(name: string): unknown {
  const fail = () => {
    throw new Error(`The fake of this test has no ${name}.`);
  };
  return new Proxy(fail, { get: fail });
}
