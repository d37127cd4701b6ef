// SPDX-License-Identifier: Apache-2.0
// How messages look: one list item each. Nothing here talks to the server.
import { MarkdownView } from './markdown.js';

const SVG = 'http://www.w3.org/2000/svg';
const COPIED_MS = 1600;

function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

function tag(name, className, text = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
}

function button(iconName, label, onPress) {
  const node = tag('button', 'quiet tiny');
  node.type = 'button';
  const text = tag('span', '', label);
  node.append(icon(iconName), text);
  node.addEventListener('click', () => onPress(node, text));
  return node;
}

// The clipboard exists on secure origins only (loopback is one).
export function copyButton(textOf) {
  if (!navigator.clipboard) return '';
  return button('copy', 'Copy', async (node, label) => {
    const done = await navigator.clipboard.writeText(textOf()).then(() => true, () => false);
    label.textContent = done ? 'Copied' : 'Not allowed';
    node.replaceChild(icon(done ? 'check' : 'copy'), node.firstChild);
    setTimeout(() => {
      label.textContent = 'Copy';
      node.replaceChild(icon('copy'), node.firstChild);
    }, COPIED_MS);
  });
}

export function userMessage(text) {
  const item = tag('li', 'message user');
  item.append(tag('h2', 'sr-only', 'You'), tag('div', 'bubble', text));
  return item;
}

// "0.21 s to first token", "38.2 tokens/s", "412 tokens"; what is not known is left out.
function statsText({ firstTokenMs, tokensPerSecond, tokens, counted }) {
  const about = counted ? '' : '≈ ';
  const parts = [];
  if (tokensPerSecond !== null) parts.push(`${about}${tokensPerSecond.toFixed(1)} tokens/s`);
  if (firstTokenMs !== null) parts.push(`first token ${(firstTokenMs / 1000).toFixed(2)} s`);
  if (tokens > 0) parts.push(`${about}${tokens} ${tokens === 1 ? 'token' : 'tokens'}`);
  return parts.join(' · ');
}

// An answer in the making, later the answer.
export class AnswerView {
  #markdown;
  #text = '';
  #content = tag('div', 'content');
  #waiting = tag('p', 'waiting');
  #foot = tag('div', 'foot');
  #stats = tag('p', 'stats');
  #note = tag('p', 'note');

  statsAt = 0;  // when the statistics were last drawn, performance.now()

  constructor() {
    this.item = tag('li', 'message answer');
    for (let i = 0; i < 3; i++) this.#waiting.append(tag('span', 'pulse'));
    this.#waiting.append(tag('span', 'sr-only', 'Waiting for the first token'));
    this.#foot.append(this.#stats, this.#note);
    this.item.append(tag('h2', 'sr-only', 'Answer'), this.#waiting, this.#content, this.#foot);
    this.item.setAttribute('aria-busy', 'true');
    this.item.classList.add('streaming');
    this.#markdown = new MarkdownView(this.#content, copyButton);
  }

  get text() {
    return this.#text;
  }

  show(text) {
    this.#text = text;
    this.#waiting.hidden = text !== '';
    this.#markdown.show(text);
  }

  showStats(stats) {
    this.#stats.textContent = statsText(stats);
  }

  // `note` says why it ended where that is not plain; `error` replaces it with a box.
  finish({ note = '', error = '', onAgain }) {
    this.item.removeAttribute('aria-busy');
    this.item.classList.remove('streaming');
    this.#waiting.hidden = true;
    this.#note.textContent = note;
    if (this.#text !== '') this.#foot.append(copyButton(() => this.#text));
    const again = button('again', 'Try again', onAgain);
    again.classList.add('again');
    if (error === '') {
      this.#foot.append(again);
      return;
    }
    const box = tag('div', 'error');
    box.setAttribute('role', 'alert');
    box.append(icon('warning'), tag('p', '', error), again);
    this.#foot.before(box);
  }
}
