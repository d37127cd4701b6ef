// SPDX-License-Identifier: Apache-2.0
// Times one answer. Until the server's own count arrives, each chunk that brought text counts as
// one token, which a server that joins tokens makes too low: `counted` tells which it is.

const SHORTEST_S = 0.05;  // below this a burst of chunks says nothing about the rate

export class Meter {
  #started = performance.now();
  #first = null;
  #last = null;
  #chunks = 0;
  #exact = null;

  text() {
    this.#last = performance.now();
    this.#first ??= this.#last;
    this.#chunks++;
  }

  usage(usage) {
    if (Number.isInteger(usage?.completion_tokens)) this.#exact = usage.completion_tokens;
  }

  // The rate is over the time after the first token, so that the prompt's length does not blur it.
  stats() {
    const tokens = this.#exact ?? this.#chunks;
    const seconds = this.#first === null ? 0 : (this.#last - this.#first) / 1000;
    return {
      firstTokenMs: this.#first === null ? null : this.#first - this.#started,
      tokensPerSecond: seconds >= SHORTEST_S && tokens > 1 ? (tokens - 1) / seconds : null,
      tokens,
      counted: this.#exact !== null,
    };
  }
}
