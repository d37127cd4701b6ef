// SPDX-License-Identifier: Apache-2.0
// Wires the page: access, models, composer, settings, keyboard.
import { Access } from './access.js';
import { Api, ApiError } from './api.js';
import { Chat } from './chat.js';
import { Panel } from './panel.js';
import { Settings } from './settings.js';

const $ = (id) => document.getElementById(id);
const RETRY_MS = 3000;
const PROMPT_SHARE = 0.4;  // of the window's height, at most, for the message being written

const access = new Access();
const api = new Api(access);
const settings = new Settings($('settings-form'), $('settings-problem'));
const panel = new Panel({
  panel: $('settings'),
  toggle: $('settings-toggle'),
  close: $('settings-close'),
  scrim: $('scrim'),
  behind: [$('chat'), document.querySelector('.bar')],
});
const chat = new Chat(api, $('messages'), $('scroll'), () => ({
  model: $('model').value,
  system: settings.system,
  sampling: settings.sampling(),
}));

let connected = false;
let retry = 0;

function say(text) {
  $('announce').textContent = text;
}

function refresh() {
  const asking = !$('access').hidden;
  $('welcome').hidden = asking || !chat.empty;
  $('dock').hidden = asking && chat.empty;
  $('send').hidden = chat.busy;
  $('stop').hidden = !chat.busy;
  $('send').disabled = !connected || $('prompt').value.trim() === '';
  $('new-chat').disabled = chat.empty;
  $('sign-out').hidden = !access.present;
  $('who-text').textContent = !access.present
      ? (connected ? 'This server asks for no key.' : 'No link or key yet.')
      : access.isApiKey ? 'With an API key, kept for this tab only.'
                        : 'With this server’s page link, valid until the server stops.';
  $('jump').hidden = chat.empty || chat.atEnd;
}

// --- Connection and access --------------------------------------------------------------------

function showConnection(state, text) {
  connected = state === 'ready';
  $('connection').dataset.state = state;
  $('connection-text').textContent = text;
}

function showModels(ids) {
  const chosen = $('model').value;
  $('model').replaceChildren(...ids.map((id) => new Option(id, id, false, id === chosen)));
  $('model').hidden = ids.length < 2;
  $('connection-text').hidden = ids.length > 1;
  showConnection('ready', ids[0]);
}

// Shows the access panel; `reason` says why what was there did not do.
function ask(reason) {
  showConnection('denied', 'Not connected');
  $('access').hidden = false;
  $('access-problem').hidden = reason === '';
  $('access-problem').textContent = reason;
  refresh();
  if (!chat.empty) chat.toEnd();
  if (!panel.covers) $('access-secret').focus();
}

async function connect() {
  clearTimeout(retry);
  showConnection('connecting', 'Connecting…');
  refresh();
  try {
    const ids = await api.models();
    if (ids.length === 0) throw new ApiError('That gives access to no model of this server.', 403);
    showModels(ids);
    $('access').hidden = true;
    refresh();
    if (!panel.covers) $('prompt').focus();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.isAccess) return ask(access.present ? error.message : '');
    showConnection('offline', 'Server not reachable, trying again…');
    refresh();
    retry = setTimeout(connect, RETRY_MS);
  }
}

function takeLink() {
  if (access.takeFromAddress()) connect();
}

$('access-form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (access.takeTyped($('access-secret').value)) {
    $('access-secret').value = '';
    connect();
  } else {
    ask('This is neither a page link with #token=… nor a key.');
  }
});

$('sign-out').addEventListener('click', () => {
  access.clear();
  if (panel.covers) panel.close();
  connect();
});

// --- Composer ---------------------------------------------------------------------------------

// As tall as its text; set through the style object, which the security policy allows.
function fitPrompt() {
  const prompt = $('prompt');
  prompt.style.height = 'auto';
  prompt.style.height = `${Math.min(prompt.scrollHeight, innerHeight * PROMPT_SHARE)}px`;
}

function submit() {
  const text = $('prompt').value.trim();
  if (text === '' || chat.busy || !connected) return;
  const wrong = settings.invalidField;
  if (wrong !== null) {
    panel.show();
    wrong.focus();
    return;
  }
  $('prompt').value = '';
  fitPrompt();
  chat.send(text);
  $('prompt').focus();
}

function stop() {
  chat.stop();
  $('prompt').focus();
}

$('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
});
$('prompt').addEventListener('input', () => {
  fitPrompt();
  refresh();
});
$('prompt').addEventListener('keydown', (event) => {
  // While an input method composes, Enter belongs to it.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
$('stop').addEventListener('click', stop);
$('new-chat').addEventListener('click', () => {
  chat.clear();
  say('New chat.');
  $('prompt').focus();
});
$('examples').addEventListener('click', (event) => {
  const example = event.target.closest('button');
  if (example === null) return;
  $('prompt').value = example.textContent;
  fitPrompt();
  refresh();
  $('prompt').focus();
});
$('jump').addEventListener('click', () => {
  chat.toEnd();
  $('prompt').focus();
});
$('scroll').addEventListener('scroll', refresh, { passive: true });
$('settings-reset').addEventListener('click', () => settings.reset());

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  if (panel.covers) panel.close();
  else if (chat.busy) stop();
});

chat.addEventListener('change', refresh);
chat.addEventListener('denied', (event) => ask(event.detail));
chat.addEventListener('say', (event) => say(event.detail));
addEventListener('hashchange', takeLink);

chat.toEnd();
access.takeFromAddress();
connect();  // also without a secret: the server may ask for none
