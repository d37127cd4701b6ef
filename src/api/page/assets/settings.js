// SPDX-License-Identifier: Apache-2.0
// What a request asks for beside the messages. Sampling is kept for the next visit; the system
// prompt, which may be confidential, for this tab only.

const STORE = 'o3.sampling';
const SYSTEM_STORE = 'o3.system';
const DEFAULTS = { temperature: '0.7', top_p: '0.95', top_k: '', seed: '', max_tokens: '1024' };
const SLIDERS = ['temperature', 'top_p'];

function read(storage, key, fallback) {
  try {
    return JSON.parse(storage().getItem(key)) ?? fallback;
  } catch {
    return fallback;
  }
}

function write(storage, key, value) {
  try {
    storage().setItem(key, JSON.stringify(value));
  } catch {
    // Storage may be off or full; the settings then last until the page is left.
  }
}

// Storage is reached late: where it is forbidden, the property itself throws.
const local = () => localStorage;
const tab = () => sessionStorage;

export class Settings {
  #form;
  #problem;

  constructor(form, problem) {
    this.#form = form;
    this.#problem = problem;
    this.#fill({ ...DEFAULTS, ...read(local, STORE, {}) });
    form.elements.system.value = String(read(tab, SYSTEM_STORE, ''));
    form.addEventListener('input', () => this.#changed());
    form.addEventListener('submit', (event) => event.preventDefault());
  }

  reset() {
    this.#fill(DEFAULTS);
    this.#form.elements.system.value = '';
    this.#changed();
  }

  // The field that cannot be sent as it is, or null.
  get invalidField() {
    return [...this.#form.elements].find((field) => field.willValidate && !field.validity.valid)
        ?? null;
  }

  get system() {
    return this.#form.elements.system.value.trim();
  }

  // The request's sampling fields; a blank one is left to the server.
  sampling() {
    const fields = {};
    for (const name of Object.keys(DEFAULTS)) {
      const text = this.#form.elements[name].value;
      if (text !== '') fields[name] = Number(text);
    }
    return fields;
  }

  #fill(values) {
    for (const name of Object.keys(DEFAULTS)) this.#form.elements[name].value = values[name];
    this.#show();
  }

  #changed() {
    this.#show();
    if (this.invalidField !== null) return;
    const values = {};
    for (const name of Object.keys(DEFAULTS)) values[name] = this.#form.elements[name].value;
    write(local, STORE, values);
    write(tab, SYSTEM_STORE, this.#form.elements.system.value);
  }

  #show() {
    for (const name of SLIDERS) {
      const field = this.#form.elements[name];
      document.getElementById(`${name}-value`).value = Number(field.value).toFixed(2);
    }
    for (const field of this.#form.elements) {
      if (field.willValidate) field.setAttribute('aria-invalid', String(!field.validity.valid));
    }
    const wrong = this.invalidField;
    this.#problem.hidden = wrong === null;
    this.#problem.textContent =
        wrong === null ? '' : `${wrong.labels[0].textContent}: ${wrong.validationMessage}`;
  }
}
