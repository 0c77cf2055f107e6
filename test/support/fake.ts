/**
 * An object with only those members that a test needs. Using another member fails and names it.
 *
 * @param parts the members; `T` is the type that the caller expects
 */
export const fake = <T extends object>(parts: NoInfer<Partial<T>>): T =>
  new Proxy<object>(parts, {
    get: (target, name, receiver) =>
      name in target || typeof name === 'symbol' || name === 'then' || name === 'toJSON'
        ? Reflect.get(target, name, receiver)
        : missing(name),
  }) as T;

/** Stands for a missing member. A factory may pass it on, but a use fails. */
function missing(name: string): unknown {
  const fail = () => {
    throw new Error(`The fake of this test has no ${name}.`);
  };
  return new Proxy(fail, { get: fail });
}
