// SPDX-License-Identifier: Apache-2.0
// The settings panel: beside the chat where there is room (remembered), over it where there is not
// (a modal sheet: the rest is inert, Escape closes it, focus goes back to the button).

const STORE = 'o3.settings-open';

export class Panel {
  #panel;
  #toggle;
  #close;
  #scrim;
  #behind;
  #narrow = matchMedia('(max-width: 60rem)');

  // `behind`: the elements that a sheet covers.
  constructor({ panel, toggle, close, scrim, behind }) {
    this.#panel = panel;
    this.#toggle = toggle;
    this.#close = close;
    this.#scrim = scrim;
    this.#behind = behind;
    toggle.addEventListener('click', () => this.#set(!this.open, true));
    close.addEventListener('click', () => this.#set(false, true));
    scrim.addEventListener('click', () => this.#set(false, true));
    this.#narrow.addEventListener('change', () => this.#set(this.#wanted(), false));
    this.#set(this.#wanted(), false);
  }

  get open() {
    return !this.#panel.hidden;
  }
  get covers() {
    return this.open && this.#narrow.matches;
  }

  close() {
    this.#set(false, true);
  }

  show() {
    if (!this.open) this.#set(true, true);
  }

  #wanted() {
    if (this.#narrow.matches) return false;
    try {
      return localStorage.getItem(STORE) !== 'no';
    } catch {
      return true;
    }
  }

  #set(open, byUser) {
    this.#panel.hidden = !open;
    this.#toggle.setAttribute('aria-expanded', String(open));
    const covers = this.covers;
    this.#scrim.hidden = !covers;
    for (const element of this.#behind) element.inert = covers;
    if (covers) {
      this.#panel.setAttribute('role', 'dialog');
      this.#panel.setAttribute('aria-modal', 'true');
    } else {
      this.#panel.removeAttribute('role');
      this.#panel.removeAttribute('aria-modal');
    }
    if (!byUser) return;
    if (covers) this.#close.focus();
    else if (!open) this.#toggle.focus();
    if (!this.#narrow.matches) this.#remember(open);
  }

  #remember(open) {
    try {
      localStorage.setItem(STORE, open ? 'yes' : 'no');
    } catch {
      // Without storage it opens as by default.
    }
  }
}
