/** Answers of genuine servers, by name; shortened. */
import { readFileSync } from 'node:fs';
import type { Reply } from '../../support/server.ts';

interface Recorded {
  status: number;
  content_type: string;
  body: unknown;
}

export function recordings(release: '1.11.0' | '1.6.0'): {
  body(name: string): unknown;
  reply(name: string): Reply;
} {
  const file = new URL(`../../fixtures/recordings/${release}.json`, import.meta.url);
  const all = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>;
  const find = (name: string): Recorded => {
    const found = all[name];
    if (found === undefined) throw new Error(`no recording ${name}`);
    return found;
  };
  return {
    body: (name) => find(name).body,
    reply: (name) => ({ status: find(name).status, json: find(name).body }),
  };
}
