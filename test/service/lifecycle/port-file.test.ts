import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { readPort, rememberPort } from '../../../src/service/lifecycle/port-file.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

it.each([
  ['1\n', 1],
  [' 65535 ', 65_535],
  ['65536', 0],
  ['0', 0],
  ['-1', 0],
  ['1.5', 0],
  ['80 81', 0],
  ['', 0],
])('a file with %j names the port %i', (text, port) => {
  const file = dataPaths(folder.path).port;
  writeFileSync(file, text);
  expect(readPort(file)).toBe(port);
});

it('a port is stored for the next service, and written only when it is another one', () => {
  const file = dataPaths(folder.path).port;
  const lines: string[] = [];
  const remember = (port: number): number => {
    rememberPort(file, port, (line) => lines.push(line));
    return statSync(file).ino;
  };
  const first = remember(1234);
  expect(remember(1234)).toBe(first);
  expect(remember(1235)).not.toBe(first);
  expect([readFileSync(file, 'utf8'), lines]).toEqual(['1235\n', []]);
});

it('a port that cannot be stored is logged, and does not fail the start', () => {
  const file = dataPaths(folder.path).port;
  mkdirSync(file);
  const lines: string[] = [];
  rememberPort(file, 1234, (line) => lines.push(line));
  expect(lines).toEqual([expect.stringContaining('the port could not be remembered')]);
});
