// SPDX-License-Identifier: Apache-2.0
// One conversation: its exchanges, the one answer that may be under way, and what the reader sees.
import { ApiError } from './api.js';
import { Meter } from './meter.js';
import { AnswerView, userMessage } from './transcript.js';

const STORE = 'o3.conversation';
const STATS_EVERY_MS = 250;
const NEAR_END_PX = 64;

const ENDINGS = {
  length: 'Ended at the longest answer allowed (see Settings).',
  content_filter: 'Withheld by a policy of this server.',
};

// Draws at most once a frame, however fast text arrives.
class Painter {
  #draw;
  #text = '';
  #frame = 0;

  constructor(draw) {
    this.#draw = draw;
  }
  add(text) {
    this.#text += text;
    this.#frame ||= requestAnimationFrame(() => this.flush());
  }
  flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#draw(this.#text);
  }
}

function stored() {
  try {
    const exchanges = JSON.parse(sessionStorage.getItem(STORE)) ?? [];
    return exchanges.filter((e) => typeof e.question === 'string' && typeof e.answer === 'string');
  } catch {
    return [];
  }
}

export class Chat extends EventTarget {
  #api;
  #list;
  #scroll;
  #options;
  #exchanges = [];  // {question, answer, stats}; one without an answer is not sent again
  #abort = null;

  // `list` receives the messages, `scroll` is its scroll container, `options()` gives {model,
  // system, sampling} for the next request. Fires "change" when `busy` or `empty` may have changed,
  // "denied" when the secret was refused (detail: the reason), "say" for what should be spoken.
  constructor(api, list, scroll, options) {
    super();
    this.#api = api;
    this.#list = list;
    this.#scroll = scroll;
    this.#options = options;
    for (const exchange of stored()) this.#restore(exchange);
  }

  get busy() {
    return this.#abort !== null;
  }
  get empty() {
    return this.#exchanges.length === 0;
  }
  get atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  toEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  stop() {
    this.#abort?.abort();
  }

  clear() {
    this.stop();
    this.#abort = null;
    this.#exchanges = [];
    this.#list.replaceChildren();
    this.#keep();
    this.#fire('change');
  }

  async send(question) {
    if (this.busy) return;
    const exchange = { question, answer: '', stats: null };
    this.#exchanges.push(exchange);
    this.#list.append(userMessage(question));
    await this.#answer(exchange);
  }

  async #again(exchange, view) {
    if (this.busy) return;
    view.item.remove();
    exchange.answer = '';
    await this.#answer(exchange);
  }

  async #answer(exchange) {
    const abort = new AbortController();
    const view = new AnswerView();
    const exchanges = this.#exchanges;  // a new conversation begins a new array
    this.#abort = abort;
    this.#list.append(view.item);
    this.toEnd();
    this.#fire('change');
    this.#fire('say', 'Answering.');
    const end = await this.#stream(exchange, view, abort.signal);
    if (exchanges !== this.#exchanges) return;
    this.#abort = null;
    exchange.answer = view.text;
    this.#keep();
    this.#finish(exchange, view, end);
    this.#fire('change');
    if (!end.error) this.#fire('say', `${end.note || 'Answer complete.'} ${view.text}`);
  }

  #finish(exchange, view, end) {
    const follow = this.atEnd || end.error !== undefined;
    view.finish({ ...end, onAgain: () => this.#again(exchange, view) });
    if (follow) this.toEnd();
  }

  // Runs the stream into the view; tells how it ended: {note} or {error}.
  async #stream(exchange, view, signal) {
    const meter = new Meter();
    const painter = new Painter((text) => this.#paint(view, text, meter));
    let finish = null;
    try {
      for await (const chunk of this.#api.chat(this.#request(exchange), signal)) {
        if (chunk.text !== '') {
          meter.text();
          painter.add(chunk.text);
        }
        finish = chunk.finish ?? finish;
        meter.usage(chunk.usage);
      }
    } catch (error) {
      if (error.name === 'AbortError') return { note: 'Stopped.' };
      if (!(error instanceof ApiError)) throw error;
      if (error.isAccess) this.#fire('denied', error.message);
      return { error: error.message };
    } finally {
      painter.flush();
      exchange.stats = meter.stats();
      view.showStats(exchange.stats);
    }
    return { note: ENDINGS[finish] ?? (view.text === '' ? 'The answer is empty.' : '') };
  }

  #paint(view, text, meter) {
    const follow = this.atEnd;
    view.show(text);
    const now = performance.now();
    if (now - view.statsAt > STATS_EVERY_MS) {
      view.showStats(meter.stats());
      view.statsAt = now;
    }
    if (follow) this.toEnd();
  }

  #request(exchange) {
    const { model, system, sampling } = this.#options();
    const messages = system === '' ? [] : [{ role: 'system', content: system }];
    for (const { question, answer } of this.#exchanges) {
      if (answer === '') continue;
      messages.push({ role: 'user', content: question }, { role: 'assistant', content: answer });
    }
    messages.push({ role: 'user', content: exchange.question });
    return { model, messages, ...sampling };
  }

  #restore(exchange) {
    this.#exchanges.push(exchange);
    const view = new AnswerView();
    this.#list.append(userMessage(exchange.question), view.item);
    view.show(exchange.answer);
    if (exchange.stats) view.showStats(exchange.stats);
    this.#finish(exchange, view, { note: exchange.answer === '' ? 'Not answered.' : '' });
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  // A reload of the tab keeps the conversation; closing the tab ends it.
  #keep() {
    try {
      sessionStorage.setItem(STORE, JSON.stringify(this.#exchanges));
    } catch {
      // Storage may be off or full; then a reload begins anew.
    }
  }
}
