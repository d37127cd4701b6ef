// SPDX-License-Identifier: Apache-2.0
// Light or dark. Runs before the first paint, so that a chosen theme never flashes the other one;
// without a choice the style sheet follows the system.
(() => {
  const STORE = 'o3.theme';
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');

  function stored() {
    try {
      return localStorage.getItem(STORE);
    } catch {
      return null;  // storage may be off; the system's theme is fine then
    }
  }

  function store(theme) {
    try {
      if (theme === null) localStorage.removeItem(STORE);
      else localStorage.setItem(STORE, theme);
    } catch {
      // The choice then lasts until the page is left.
    }
  }

  const isDark = () => (root.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark';

  // Choosing what the system says anyway goes back to following it.
  function toggle() {
    const theme = isDark() ? 'light' : 'dark';
    const follow = (theme === 'dark') === system.matches;
    if (follow) delete root.dataset.theme;
    else root.dataset.theme = theme;
    store(follow ? null : theme);
  }

  const chosen = stored();
  if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;

  addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => button.setAttribute('aria-pressed', String(isDark()));
    button.addEventListener('click', () => {
      toggle();
      show();
    });
    system.addEventListener('change', show);
    show();
  });
})();
