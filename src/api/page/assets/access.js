// SPDX-License-Identifier: Apache-2.0
// The secret this tab speaks with: the page token from the link's fragment, or an API key typed by
// the user. It lives in sessionStorage (this tab, until it closes) and travels in the Authorization
// header only: never in an address, where logs and histories would keep it.

const STORE = 'o3.secret';

function tokenOf(fragment) {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('token') ?? '';
}

export class Access {
  #secret = '';

  constructor() {
    try {
      this.#secret = sessionStorage.getItem(STORE) ?? '';
    } catch {
      // Without storage the secret lasts until the page is left.
    }
  }

  // Moves a token out of the address bar; true if there was one.
  takeFromAddress() {
    const token = tokenOf(location.hash);
    if (token === '') return false;
    history.replaceState(null, '', location.pathname + location.search);
    this.#set(token);
    return true;
  }

  // Takes what the user pasted: a whole page link, its fragment, or a bare key or token.
  takeTyped(text) {
    const trimmed = text.trim();
    const hash = trimmed.indexOf('#');
    const secret = hash < 0 ? trimmed : tokenOf(trimmed.slice(hash));
    // Header values are visible ASCII; anything else is a slip of the clipboard.
    if (!/^[\x21-\x7e]+$/.test(secret)) return false;
    this.#set(secret);
    return true;
  }

  clear() {
    this.#set('');
  }

  get present() {
    return this.#secret !== '';
  }

  get isApiKey() {
    return this.#secret.startsWith('o3-');
  }

  headers() {
    return this.present ? { Authorization: `Bearer ${this.#secret}` } : {};
  }

  #set(secret) {
    this.#secret = secret;
    try {
      if (secret === '') sessionStorage.removeItem(STORE);
      else sessionStorage.setItem(STORE, secret);
    } catch {
      // As above.
    }
  }
}
