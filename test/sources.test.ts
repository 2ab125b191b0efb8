import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');
const CITED = /\binterface(?: sections?)? (\d[\d., ]*(?:(?:and|to) \d[\d.]*)*)/g;

const files = ['src', 'test', 'scripts'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|mjs|cjs)$/.test(name))
    .map((name) => path.join(folder, name)),
);

function numbersIn(text: string): string[] {
  return [...text.matchAll(CITED)].flatMap(([, list = '']) => list.match(/\d+(?:\.\d+)?/g) ?? []);
}

it('every place of the interface that a comment names is on the map', () => {
  const map = readFileSync(path.join(root, 'docs/interface.md'), 'utf8');
  const known = new Set([...map.matchAll(/^\| (\d+(?:\.\d+)?) /gm)].map(([, number]) => number));
  const cited = files.map((file) => [file, numbersIn(readFileSync(path.join(root, file), 'utf8'))] as const);

  const lost = cited.flatMap(([file, numbers]) =>
    numbers.filter((each) => !known.has(each)).map((each) => `${file}: ${each}`),
  );
  expect(cited.flatMap(([, numbers]) => numbers).length).toBeGreaterThan(50);
  expect(lost).toEqual([]);
});
