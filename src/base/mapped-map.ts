/** A view of a map whose values are computed when they are read. */
export class MappedMap<Key, Value, Shown> implements ReadonlyMap<Key, Shown> {
  readonly #map: ReadonlyMap<Key, Value>;
  readonly #show: (value: Value) => Shown;

  constructor(map: ReadonlyMap<Key, Value>, show: (value: Value) => Shown) {
    this.#map = map;
    this.#show = show;
  }

  get size(): number {
    return this.#map.size;
  }

  has(key: Key): boolean {
    return this.#map.has(key);
  }

  get(key: Key): Shown | undefined {
    const value = this.#map.get(key);
    return value === undefined ? undefined : this.#show(value);
  }

  keys(): MapIterator<Key> {
    return this.#map.keys();
  }

  *values(): MapIterator<Shown> {
    for (const value of this.#map.values()) yield this.#show(value);
  }

  *entries(): MapIterator<[Key, Shown]> {
    for (const [key, value] of this.#map) yield [key, this.#show(value)];
  }

  [Symbol.iterator](): MapIterator<[Key, Shown]> {
    return this.entries();
  }

  forEach(act: (value: Shown, key: Key, map: ReadonlyMap<Key, Shown>) => void): void {
    for (const [key, value] of this) act(value, key, this);
  }
}
