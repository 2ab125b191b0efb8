import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newSandbox, requestedSandbox, withFolders, workerConfig } from '../../../src/service/sandboxes/new-sandbox.ts';
import { specChoice, SpecRefused } from '../../../src/service/sandboxes/specs.ts';

const NOW = '2026-01-01T00:00:00.000000Z';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-new-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

it('each sandbox has an id and a key of its own', () => {
  const [one, two] = [newSandbox('process', NOW), newSandbox('process', NOW)];
  expect(one.id).not.toBe(two.id);
  expect(one.session_api_key).not.toBe(two.session_api_key);
  expect(one).toMatchObject({ status: 'STARTING', spec_id: 'process', isolation: 'process', created_at: NOW });
});

it('a request without a spec gets the default one, with its warning, and a request with a spec gets that one', () => {
  const without = specChoice(null, 'not installed');
  expect(requestedSandbox(null, without, NOW)).toMatchObject({
    spec_id: 'process',
    status_detail: 'bubblewrap does not work here (not installed): commands run without isolation',
  });
  expect(requestedSandbox('process', without, NOW).status_detail).toBeNull();
  expect(() => requestedSandbox('bubblewrap', without, NOW)).toThrow(SpecRefused);
});

it('a worker has the key and the isolation of its sandbox, and its last port', () => {
  const surroundings = { root: '/r', workspace_dir: '/w', events_dir: '/e', initial_env: {} };
  const row = { ...newSandbox('bubblewrap', NOW), spec_id: 'process' };
  const expected = { sandbox_id: row.id, session_api_key: row.session_api_key, spec: 'bubblewrap', ...surroundings };
  expect(workerConfig(row, surroundings)).toEqual(expected);
  expect(workerConfig({ ...row, port: 7 }, surroundings)).toEqual({ ...expected, port: 7 });
});

it('folders are for their owner alone, and removed when the sandbox cannot be stored', () => {
  const folders = [path.join(dir, 'a/b'), path.join(dir, 'c')];
  expect(() => {
    withFolders(folders, () => {
      expect(folders.map((folder) => statSync(folder).mode & 0o777)).toEqual([0o700, 0o700]);
      throw new Error('the disk is full');
    });
  }).toThrow('the disk is full');
  expect(folders.map((folder) => existsSync(folder))).toEqual([false, false]);
});

it('folders that cannot all be made are removed', () => {
  writeFileSync(path.join(dir, 'file'), '');
  mkdirSync(path.join(dir, 'first'));
  const folders = [path.join(dir, 'first/a'), path.join(dir, 'file/b')];
  expect(() => {
    withFolders(folders, () => undefined);
  }).toThrow(/ENOTDIR/);
  expect(existsSync(path.join(dir, 'first/a'))).toBe(false);
});
