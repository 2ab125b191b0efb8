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

it('docs/interface.md has a section with text for every number that a comment cites', () => {
  const sections = readFileSync(path.join(root, 'docs/interface.md'), 'utf8')
    .split(/^#{2,3} (?=\d)/m)
    .slice(1);
  const known = new Set(
    sections
      .filter((section) => /\n\n\S/.test(section))
      .map((section) => /^[\d.]+/.exec(section)?.[0]),
  );
  // A group is cited where its sections are meant.
  for (const number of [...known]) known.add(number?.split('.')[0]);
  const cited = files.map(
    (file) => [file, numbersIn(readFileSync(path.join(root, file), 'utf8'))] as const,
  );

  const missing = cited.flatMap(([file, numbers]) =>
    numbers.filter((each) => !known.has(each)).map((each) => `${file}: ${each}`),
  );
  expect(cited.flatMap(([, numbers]) => numbers).length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});

it('no file of the repository has marks of a merge', () => {
  const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join('docs', name));
  const all = [...files, ...pages, 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

  // Prettier makes quotations of the last mark in Markdown.
  const marked = all.filter((file) =>
    /^(?:<{7} |>{7} |(?:> ){6}> )/m.test(readFileSync(path.join(root, file), 'utf8')),
  );
  expect(all.length).toBeGreaterThan(500);
  expect(marked).toEqual([]);
});

it('no message or help names the release that has a feature: it names the missing feature', () => {
  const texts = files
    .filter((file) => /^src\/(?:client|commands)\//.test(file) && !file.includes('/quirks/'))
    .flatMap(
      (file) => readFileSync(path.join(root, file), 'utf8').match(/'[^'\n]*'|`[^`\n]*`/g) ?? [],
    );
  const RELEASE =
    /\b(?:before|since|from|OpenHands) \d+\.\d+|\d+\.\d+\S* (?:and|or) later|\bservers? of 20\d\d/;
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.filter((text) => RELEASE.test(text))).toEqual([]);
});
