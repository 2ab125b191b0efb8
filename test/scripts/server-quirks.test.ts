import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  incompleteQuirks,
  quirksPage,
  QUIRKS_PAGE,
  readQuirks,
  serverSources,
} from '../../scripts/server-quirks.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

it('every quirk has a header with all members', () => {
  const quirks = readQuirks(serverSources(root));
  expect(quirks.length).toBeGreaterThan(0);
  expect(incompleteQuirks(quirks)).toEqual([]);
});

it('every quirk is a file in quirks/, and every test that its header names exists', () => {
  const quirks = readQuirks(serverSources(root));
  expect(quirks.filter(({ file }) => !file.includes('/quirks/'))).toEqual([]);
  const named = quirks.flatMap(
    ({ members }) => members.Evidence.match(/\btest\/[\w/.-]+\.ts\b/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it('docs/server-quirks.md is up to date: npm run generate writes it', () => {
  const page = quirksPage(readQuirks(serverSources(root)));
  expect(readFileSync(path.join(root, QUIRKS_PAGE), 'utf8') === page, QUIRKS_PAGE).toBe(true);
});

it('a file in quirks/ without a header, and a header that lacks a member, are reported', () => {
  const header =
    '/**\n * Reads twice.\n *\n * Servers:  1.6.0,\n *           1.11.0\n * Symptom:  wrong\n */\n';
  const quirks = readQuirks(
    new Map([
      ['src/client/v1/quirks/none.ts', '/** Reads twice. */\nexport const none = 1;\n'],
      ['src/client/v1/send.ts', `export const one = 1;\n\n${header}export const two = 2;\n`],
      ['src/client/v1/list.ts', '/**\n * Lists.\n */\nexport const list = 1;\n'],
    ]),
  );
  expect(incompleteQuirks(quirks)).toEqual([
    ...['Servers', 'Symptom', 'Evidence', 'Cost', 'Remove'].map(
      (name) => `src/client/v1/quirks/none.ts: lacks ${name}`,
    ),
    ...['Evidence', 'Cost', 'Remove'].map((name) => `src/client/v1/send.ts: lacks ${name}`),
  ]);
  expect(quirks[1]?.members.Servers).toBe('1.6.0, 1.11.0');
  expect(quirks[1]?.about).toBe('Reads twice.');
});
