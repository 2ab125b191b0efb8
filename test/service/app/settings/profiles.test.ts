import { beforeEach, describe, expect, it } from 'vitest';
import {
  checkedLlm,
  knownModels,
  leaveActiveProfile,
  profileConfig,
  profileLine,
  readProfiles,
  writeProfiles,
} from '../../../../src/service/app/settings/profiles.ts';
import { emptySettings, writeSettings } from '../../../../src/service/app/settings/record.ts';
import { storeOfEachTest } from '../../storage/support.ts';

const db = storeOfEachTest();

describe('the stored profiles', () => {
  beforeEach(() => {
    writeProfiles(db.store.documents, { profiles: { first: { model: 'a' } }, active: 'first' });
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('have none with the name %s', (name) => {
    expect(readProfiles(db.store.documents).profiles[name]).toBeUndefined();
  });

  it.each(['constructor', '__proto__'])('may have one with the name %s', (name) => {
    const all = readProfiles(db.store.documents);
    writeProfiles(db.store.documents, { ...all, profiles: { ...all.profiles, [name]: { model: 'odd' } } });
    const { profiles } = readProfiles(db.store.documents);
    expect([Object.keys(profiles), profiles[name]]).toEqual([['first', name], { model: 'odd' }]);
  });

  it.each([
    ['the same settings', { llm: { model: 'a' } }, 'first'],
    ['a default that is written out', { llm: { model: 'a', num_retries: 5 } }, 'first'],
    ['another key', { llm: { model: 'a', api_key: 'k' } }, null],
    ['no settings of a model', {}, null],
  ])('have with %s the active profile %s', (_, agent, active) => {
    leaveActiveProfile(db.store.documents, { ...emptySettings(), agent });
    expect(readProfiles(db.store.documents).active).toBe(active);
  });

  it('and the settings name the known models, each once', () => {
    const { documents } = db.store;
    const profiles = {
      first: { model: 'b' },
      second: { model: 'a' },
      third: { base_url: 'x' },
      fourth: { model: 'b' },
    };
    writeProfiles(documents, { profiles, active: null });
    expect(knownModels(documents)).toEqual(['a', 'b']);
    writeSettings(documents, { ...emptySettings(), agent: { llm: { model: 'c' } } });
    expect(knownModels(documents)).toEqual(['a', 'b', 'c']);
  });
});

describe('a profile', () => {
  it('is shown with all defaults and without its key', () => {
    const llm = { model: 'a', api_key: 'secret', num_retries: 2 };
    expect(profileConfig(llm)).toMatchObject({ model: 'a', api_key: null, num_retries: 2, timeout: 300 });
    expect(profileConfig(llm, '**********')).toMatchObject({ api_key: '**********' });
    expect(profileLine('first', llm)).toEqual({ name: 'first', model: 'a', base_url: null, api_key_set: true });
    expect(profileLine('empty', { api_key: '' })).toMatchObject({ model: null, api_key_set: false });
  });

  it('takes the known members of what is given, and refuses a wrong one', () => {
    const given = { model: 'a', api_key: null, num_retries: 0, nope: { deep: 1 }, __proto__: { model: 'b' } };
    expect(checkedLlm(given)).toEqual({ ok: true, llm: { model: 'a', num_retries: 0 } });
    expect(checkedLlm({ num_retries: -1 })).toEqual({
      ok: false,
      error: 'llm.num_retries: Input should be greater than or equal to 0',
    });
  });
});
