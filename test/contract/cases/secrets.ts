/** Secrets of the user at the server, and model settings kept under names. */
import { expect } from 'vitest';
import { expectCode, json, ok, type ListJson } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

interface SecretJson {
  name: string;
  description: string | null;
}

const NAME = 'CONTRACT_TOKEN';
const VALUES = ['first-value-0123456789', 'second-value-9876543210'] as const;

const list = async (target: Target): Promise<SecretJson[]> =>
  json<ListJson<SecretJson>>(await ok(target, 'secret', 'list', '--json', '--all-pages')).items;

export const SECRETS: ContractCase[] = [
  {
    name: 'secrets: stored, replaced, listed and deleted; no value is ever shown',
    async run(target) {
      const said: string[] = [];
      const set = async (value: string, ...flags: string[]): Promise<void> => {
        const args = ['secret', 'set', NAME, '--from-env', NAME, '--json', '--debug', ...flags];
        const ended = expectCode(await target.invoke({ args, env: { [NAME]: value } }), 0);
        said.push(ended.out, ended.err);
        expect(json<{ changed: boolean }>(ended)).toMatchObject({ name: NAME, changed: true });
      };
      await set(VALUES[0], '--description', 'for the contract');
      await set(VALUES[1]);
      const found = (await list(target)).filter(({ name }) => name === NAME);
      expect(found).toEqual([{ name: NAME, description: 'for the contract', scope: null }]);
      expect(said.join('')).not.toMatch(new RegExp(VALUES.join('|')));
      await ok(target, 'secret', 'delete', NAME, '-y');
      expect((await list(target)).map(({ name }) => name)).not.toContain(NAME);
      expectCode(await target.acs('secret', 'delete', NAME, '-y'), 5);
      await ok(target, 'secret', 'delete', NAME, '-y', '--ignore-not-found');
      expectCode(await target.acs('secret', 'set', 'not-a-name', '--from-env', 'PATH'), 2);
    },
  },
  {
    name: 'model profiles: saved, listed, used, deleted; exit 12 where there are none',
    async run(target) {
      const profiles = async (...args: string[]) => target.acs('settings', 'profile', ...args);
      const first = await profiles('list', '--json');
      if (first.code === 12) {
        expectCode(await profiles('save', 'fast'), 12);
        expectCode(await profiles('use', 'fast'), 12);
        return 'unsupported';
      }
      expectCode(first, 0);
      expectCode(await profiles('save', 'fast', 'llm_model=openai/gpt-4o-mini'), 0);
      expect((await profiles('list', '--json')).out).toContain('gpt-4o-mini');
      expectCode(await profiles('use', 'nobody'), 5);
      expectCode(await profiles('delete', 'fast', '-y'), 0);
      expectCode(await profiles('delete', 'fast', '-y'), 5);
      expect((await profiles('list', '--json')).out).not.toContain('gpt-4o-mini');
    },
  },
];
