/** What both kinds of target need to arrange a case. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { json, ok } from './support.ts';
import { STEP_MS, type Target } from './target.ts';

/**
 * Requests with the key, past acs; one that came too soon after others, and was not taken, is sent
 * again.
 */
export function callServer(url: string, key: string): Target['request'] {
  return async (method, path, body) => {
    const send = (): Promise<Response> =>
      fetch(`${url}${path}`, {
        method,
        headers: { 'x-session-api-key': key, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(STEP_MS),
      });
    let response = await send();
    for (let tries = 1; response.status === 429 && tries < 10; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      response = await send();
    }
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) as unknown };
    } catch {
      return { status: response.status, body: text };
    }
  };
}

/** The commands of SLOW runs: `released` is the file that they wait for, which is in `dir`. */
export function heldCommands(dir: string): {
  released: string;
  hold: () => Promise<void>;
  release: () => Promise<void>;
} {
  const released = path.join(dir, 'released');
  return {
    released,
    hold: () => rm(released, { force: true }),
    release: () => writeFile(released, ''),
  };
}

/** One sandbox for all cases that need any sandbox; created on first use. */
export function sharedSandbox(target: () => Target): () => Promise<string> {
  let made: Promise<string> | undefined;
  return () => {
    made ??= ok(target(), 'sandbox', 'start', '--json').then(
      (ended) => json<{ id: string }>(ended).id,
    );
    return made;
  };
}
