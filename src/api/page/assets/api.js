// SPDX-License-Identifier: Apache-2.0
// The two calls this page makes: GET /v1/models and a streamed POST /v1/chat/completions.
import { eventsOf } from './sse.js';

export class ApiError extends Error {
  constructor(message, status = 0, code = '') {
    super(message);
    this.name = 'ApiError';
    this.status = status;  // 0: no answer came
    this.code = code;
  }
  get isAccess() {
    return this.status === 401 || this.status === 403;
  }
}

const UNREACHABLE = 'The server does not answer. Check that o3 serve is still running.';
const CUT_OFF = 'The connection ended before the answer was complete.';

function errorOf(body, status, retryAfter) {
  const error = body?.error;
  let message = typeof error?.message === 'string' ? error.message : '';
  if (message === '') message = `The server answered with status ${status}.`;
  if (/^\d+$/.test(retryAfter ?? '')) message += ` Try again in ${retryAfter} s.`;
  return new ApiError(message, status, String(error?.code ?? ''));
}

export class Api {
  #access;

  constructor(access) {
    this.#access = access;
  }

  // The ids that this secret may use.
  async models() {
    const response = await this.#fetch('/v1/models', {});
    const body = await response.json().catch(() => null);
    if (!Array.isArray(body?.data)) throw new ApiError('The list of models makes no sense.', 200);
    return body.data.map((model) => String(model.id));
  }

  // Yields {text, finish, usage} per chunk, each but what arrived; ends after [DONE]. An abort by
  // `signal` ends in the fetch's AbortError.
  async *chat(request, signal) {
    const response = await this.#fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
      signal,
    });
    try {
      for await (const data of eventsOf(response.body)) {
        if (data === '[DONE]') return;
        const chunk = JSON.parse(data);
        if (chunk.error) throw errorOf(chunk, response.status);
        const choice = chunk.choices?.[0];
        yield {
          text: choice?.delta?.content ?? '',
          finish: choice?.finish_reason ?? null,
          usage: chunk.usage ?? null,
        };
      }
    } catch (error) {
      if (error instanceof ApiError || error.name === 'AbortError') throw error;
      throw new ApiError(error instanceof SyntaxError ? 'The answer makes no sense.' : CUT_OFF);
    }
    throw new ApiError(CUT_OFF);
  }

  async #fetch(path, options) {
    let response;
    try {
      response = await fetch(path, {
        ...options,
        headers: { ...options.headers, ...this.#access.headers() },
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(UNREACHABLE);
    }
    if (response.ok) return response;
    const body = await response.json().catch(() => null);
    throw errorOf(body, response.status, response.headers.get('Retry-After'));
  }
}
