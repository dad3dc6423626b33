// A call that can be followed while it runs: pieces of text and observations as async iterables.
import type { Observation, TextDelta, TextReset } from "./protocol.js";

/** A piece of an attempt's text, or word that everything streamed of an attempt is void. */
export type Delta = TextDelta | TextReset;

/** Called in order, all before the result. */
export interface Following {
  onDelta?: (delta: Delta) => void;
  onObservation?: (observation: Observation) => void;
}

/** What was started. Leaving a loop early neither cancels the call nor loses the result. */
export interface Live<T> {
  readonly result: Promise<T>;
  readonly deltas: AsyncIterable<Delta>;
  readonly observations: AsyncIterable<Observation>;
}

/** Starts a call and keeps what it tells until it is read; a failure also ends the loops. */
export function live<T>(start: (following: Required<Following>) => Promise<T>): Live<T> {
  const deltas = new Channel<Delta>();
  const observations = new Channel<Observation>();
  const result = start({
    onDelta: (delta) => deltas.push(delta),
    onObservation: (observation) => observations.push(observation),
  });
  const end = (failure?: { error: unknown }) => {
    deltas.end(failure);
    observations.end(failure);
  };
  result.then(
    () => end(),
    (error: unknown) => end({ error }),
  );
  return { result, deltas, observations };
}

/** The text so far, with this delta: a reset empties it. */
export function append(text: string, delta: Delta): string {
  return "reset" in delta ? "" : text + delta.text;
}

/** Values from one writer to one reader. */
class Channel<T> implements AsyncIterable<T> {
  #values: T[] = [];
  #ended = false;
  #left = false;
  #failure: { error: unknown } | undefined;
  #wake: () => void = () => {};

  push(value: T): void {
    if (this.#left) return;
    this.#values.push(value);
    this.#wake();
  }

  end(failure?: { error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    try {
      for (;;) {
        const values = this.#values;
        this.#values = [];
        yield* values;
        if (this.#values.length > 0) continue;
        if (this.#failure) throw this.#failure.error;
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#left = true;
      this.#values = [];
    }
  }
}
