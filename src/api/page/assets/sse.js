// SPDX-License-Identifier: Apache-2.0
// Server-sent events from a fetch body (WHATWG HTML, 9.2.6), incremental: pieces may end anywhere,
// inside a code point, between CR and LF, or within a field name.

// One event at a time is bounded, so that a peer that never ends a line cannot fill the memory.
const MAX_EVENT_CHARACTERS = 1 << 20;

export class SseParser {
  #line = '';
  #data = null;
  #size = 0;
  #skipLineFeed = false;

  // Takes decoded text; returns the data of each event that it completed.
  push(text) {
    const events = [];
    let start = 0;
    if (this.#skipLineFeed && text.length > 0) {
      if (text[0] === '\n') start = 1;
      this.#skipLineFeed = false;
    }
    for (let i = start; i < text.length; i++) {
      const c = text[i];
      if (c !== '\n' && c !== '\r') continue;
      this.#endLine(this.#line + text.slice(start, i), events);
      this.#line = '';
      if (c === '\r') {
        if (i + 1 === text.length) this.#skipLineFeed = true;
        else if (text[i + 1] === '\n') i++;
      }
      start = i + 1;
    }
    this.#line += text.slice(start);
    this.#bound(this.#line.length);
    return events;
  }

  #endLine(line, events) {
    if (line === '') {
      if (this.#data !== null) events.push(this.#data);
      this.#data = null;
      this.#size = 0;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== 'data') return;
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    this.#size += value.length;
    this.#bound(this.#size);
    this.#data = this.#data === null ? value : this.#data + '\n' + value;
  }

  #bound(length) {
    if (length > MAX_EVENT_CHARACTERS) throw new Error('The server sent an event that is too long.');
  }
}

// The data of each event of a byte stream, as soon as it is complete. Leaving the loop early
// cancels the stream, which closes the connection.
export async function* eventsOf(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder('utf-8');
  const parser = new SseParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
