/**
 * An object of which a test needs some members only. Reading another one fails, and names it.
 *
 * @param parts `T` is the type that is expected where the result is used
 */
export const fake = <T extends object>(parts: NoInfer<Partial<T>>): T =>
  new Proxy<object>(parts, {
    get: (target, name, receiver) => {
      if (name in target || typeof name === 'symbol' || name === 'then' || name === 'toJSON')
        return Reflect.get(target, name, receiver);
      throw new Error(`The fake of this test has no ${name}.`);
    },
  }) as T;
